#include "app/workspace/runs/sharpness/sharpness_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/run_once.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/start_weights.h"
#include "core/base/error.h"
#include "core/methods/catalogue.h"
#include "core/methods/precision/update_stability.h"
#include "core/methods/settings/settings.h"
#include "core/result/stable_rate.h"
#include "core/training/data_source.h"

namespace trainyard {
namespace {

/// The gradient at any weights, as one update by plain descent shows it: weights before less
/// weights after, over the rate. Every update reads the samples of the first.
class GradientOfAnUpdate {
 public:
  GradientOfAnUpdate(const Scenario& trained, const Training& seeds, const DataSource& data)
      : data_(data) {
    const Bytes memory = trained.cluster.device.memory.value;
    Scenario scenario{trained.model, local_cluster(1, memory * trained.cluster.count), {}};
    scenario.plan.batch = trained.plan.batch;
    apply_setting(scenario.plan, "precision=fp32");
    apply_setting(scenario.plan, "optimizer=sgd");
    training_.seed = seeds.seed, training_.seeds = seeds.seeds;
    training_.steps = 1, training_.rate = 1;
    predicted_ = predict_training(scenario, training_, nullptr);
    expect_fits(*predicted_, "a gradient of the whole model is computed on one core here",
                {"--model"});
    options_.record_timeline = false;
    options_.memory_limit = scenario.cluster.device.memory.value;
  }

  std::vector<TrainedTensor> initial() const { return CpuBackend(job(), options_).parameters(); }
  /// Returns the weights as one list, in the order in which gradients are then given.
  std::vector<double> begin(std::vector<TrainedTensor> weights) {
    tensors_ = std::move(weights);
    std::vector<double> list;
    for (const TrainedTensor& tensor : tensors_)
      list.insert(list.end(), tensor.values.begin(), tensor.values.end());
    return list;
  }

  LossGradient operator()(std::span<const double> weights) {
    std::size_t at = 0;
    for (TrainedTensor& tensor : tensors_)
      for (float& value : tensor.values) value = static_cast<float>(weights[at++]);
    CpuBackend backend(job(), options_);
    backend.set_parameters(tensors_);
    const BackendRun run = backend.run();
    LossGradient found;
    found.loss = run.losses.front();
    found.gradient.reserve(weights.size());
    const std::vector<TrainedTensor> after = backend.parameters();
    double square = 0, weight_square = 0;
    for (std::size_t t = 0; t < after.size(); ++t)
      for (std::size_t e = 0; e < after[t].values.size(); ++e) {
        const double before = tensors_[t].values[e];
        found.gradient.push_back((before - after[t].values[e]) / training_.rate);
        square += found.gradient.back() * found.gradient.back();
        weight_square += before * before;
      }
    // Four-byte weights round what an update adds to them: it is largest beside them where it is as
    // long as they are.
    if (!scaled_ && square > 0) {
      scaled_ = true;
      training_.rate = std::clamp(std::sqrt(weight_square / square), 1e-3, 1e5);
      return (*this)(weights);
    }
    return found;
  }

 private:
  BackendJob job() const {
    return {predicted_->workload, predicted_->program, predicted_->prices, &training_, &data_};
  }

  const DataSource& data_;
  Training training_;
  ExperimentPtr predicted_;
  CpuOptions options_;
  std::vector<TrainedTensor> tensors_;
  bool scaled_ = false;
};

// The last step of a program that runs until its delays have settled says how old gradients are.
// Copies of a stage are equally late.
std::vector<StageRates> stage_rates(const Experiment& settled, const SharpnessAnswer& answer) {
  const Plan& plan = settled.workload.scenario.plan;
  const Method& schedule = schedule_of(plan);
  const Choice* const choice = find_choice(plan, schedule.name);
  const double sharp = answer.sharpness.eigenvalue;
  std::vector<StageRates> stages;
  for (const StageFacts& f : settled.result.asynchrony->stages) {
    if (!stages.empty() && stages.back().stage == static_cast<std::int64_t>(f.stage.value))
      continue;
    const UpdateRule rule =
        update_rule_of(schedule.name, choice == nullptr ? Params{} : choice->params, f, answer.rate,
                       answer.momentum);
    StageRates& stage = stages.emplace_back();
    stage.stage = f.stage.value, stage.oldest = f.forward_delay;
    stage.delay = f.mean_delay_thousandths / 1000.0;
    stage.plain = answer.stable_rate(stage.delay);
    if (answer.bounds_rates()) stage.own = largest_stable_rate(rule, {sharp, 0}, f.forward_delay);
    stage.first_rate = rule.rate_of(0);
  }
  return stages;
}

void add_stages(SharpnessAnswer& answer, const Scenario& scenario, const std::stop_token& stop) {
  const auto settled = run_once(scenario, {.stop = stop});
  const std::optional<Asynchrony>& old = settled->result.asynchrony;
  if (!old || old->mean_delay <= 0) return;
  answer.schedule = schedule_of(scenario.plan).name;
  answer.stages = stage_rates(*settled, answer);
  answer.consistent = old->consistent;
}

}  // namespace

bool SharpnessAnswer::bounds_rates() const { return sharpness.found() && sharpness.eigenvalue > 0; }

std::optional<double> SharpnessAnswer::stable_rate(double delay) const {
  if (!bounds_rates()) return std::nullopt;
  return 2 / sharpness.eigenvalue * stable_rate_share(delay);
}

std::optional<double> SharpnessAnswer::stable_rate_of_momentum() const {
  if (!bounds_rates()) return std::nullopt;
  return 2 * (1 + momentum) / sharpness.eigenvalue;
}

const StageRates* SharpnessAnswer::strictest_stage() const {
  const auto strictest =
      std::min_element(stages.begin(), stages.end(), [](const StageRates& a, const StageRates& b) {
        return a.own.value_or(0) < b.own.value_or(0);
      });
  return strictest == stages.end() || !strictest->own ? nullptr : &*strictest;
}

std::optional<double> SharpnessAnswer::own_stable_rate() const {
  const StageRates* const stage = strictest_stage();
  return stage == nullptr ? stable_rate_of_momentum() : stage->own;
}

bool SharpnessAnswer::bounds_its_optimizer() const {
  return optimizer == "sgd" || optimizer == "momentum";
}

std::optional<double> SharpnessAnswer::largest_batch() const {
  const std::optional<double> stable = own_stable_rate();
  if (!stable || rate <= 0) return std::nullopt;
  return static_cast<double>(batch) * *stable / rate;
}

SharpnessAnswer sharpness_study(SharpnessQuestion question) {
  TrainingRequest request;
  request.scenario = on_this_machine(std::move(question.scenario));
  request.training = question.training;
  request.training.steps = std::max<std::int64_t>(1, question.steps);
  request.data = question.data, request.start_from = question.start_from;
  request.run.stop = question.stop;
  // Training is half of the work where there is any.
  const double before = question.steps > 0 ? 0.5 : 0;
  const double most = question.options.most_products;
  if (question.progress) {
    request.run.progress = [&](double share) { question.progress(before * share); };
    question.options.progress = [&, told = std::move(question.options.progress)](int products) {
      if (told) told(products);
      question.progress(before + (1 - before) * std::min(1.0, products / most));
    };
  }
  TrainingJob job(std::move(request));
  const Scenario& scenario = job.predicted()->workload.scenario;
  SharpnessAnswer answer;
  answer.model = scenario.model.name, answer.optimizer = scenario.plan.optimizer;
  answer.batch = scenario.plan.batch.global, answer.steps = question.steps;
  answer.rate = for_batch(question.training, answer.batch).rate;
  answer.momentum = answer.optimizer == "momentum" ? question.training.momentum : 0;

  const std::string name(question.data.empty() ? default_data(scenario.model) : question.data);
  const std::unique_ptr<DataSource> data = open_data(name, data_seeds(question.training));
  answer.data = std::string(data->name()) + ": " + data->provenance();
  GradientOfAnUpdate gradient(scenario, question.training, *data);
  std::vector<TrainedTensor> weights = gradient.initial();
  if (question.steps > 0) {
    expect_fits(*job.predicted(), "the plan trains before, on devices here", {"--model"});
    job.run(false, nullptr);
    weights = job.parameters();
  } else if (!question.start_from.empty()) {
    weights = start_weights(load_checkpoint(question.start_from), scenario.model,
                            std::move(weights), question.start_from)
                  .tensors;
  }
  const std::vector<double> at = gradient.begin(std::move(weights));
  answer.parameters = static_cast<std::int64_t>(at.size());
  const GradientAt at_weights = [&](std::span<const double> w) { return gradient(w); };
  question.options.stop = [stop = question.stop] { return stop.stop_requested(); };
  answer.sharpness = sharpness(at_weights, at, question.options);
  if (answer.sharpness.products == 0)
    throw Error(Error::Kind::Cancelled, "stopped before any curvature was found");
  if (question.points > 0 && !question.stop.stop_requested())
    answer.slice =
        loss_slice(at_weights, at, answer.sharpness, question.points, question.options.seed);
  if (!question.stop.stop_requested()) add_stages(answer, scenario, question.stop);
  return answer;
}

}  // namespace trainyard
