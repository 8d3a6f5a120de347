#include "app/workspace/runs/sharpness_study.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/start_weights.h"
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
    Scenario scenario{trained.model, local_cluster(1, trained.cluster.device.memory.value), {}};
    scenario.plan.batch = trained.plan.batch;
    apply_setting(scenario.plan, "precision=fp32");
    apply_setting(scenario.plan, "optimizer=sgd");
    training_.seed = seeds.seed, training_.seeds = seeds.seeds;
    training_.steps = 1, training_.rate = 1;
    predicted_ = predict_training(scenario, training_, nullptr);
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

}  // namespace

std::optional<double> SharpnessAnswer::stable_rate(double delay) const {
  if (sharpness.eigenvalue <= 0) return std::nullopt;
  return 2 / sharpness.eigenvalue * stable_rate_share(delay);
}

std::optional<double> SharpnessAnswer::stable_rate_of_momentum() const {
  if (sharpness.eigenvalue <= 0) return std::nullopt;
  return 2 * (1 + momentum) / sharpness.eigenvalue;
}

std::optional<double> SharpnessAnswer::largest_batch() const {
  const std::optional<double> stable = stable_rate(0);
  if (!stable || rate <= 0) return std::nullopt;
  return static_cast<double>(batch) * *stable / rate;
}

SharpnessAnswer sharpness_study(SharpnessQuestion question) {
  TrainingRequest request;
  request.scenario = question.scenario;
  request.training = question.training;
  request.training.steps = std::max<std::int64_t>(1, question.steps);
  request.data = question.data, request.start_from = question.start_from;
  request.run.stop = question.stop;
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
  if (question.points > 0 && !question.stop.stop_requested())
    answer.slice =
        loss_slice(at_weights, at, answer.sharpness, question.points, question.options.seed);
  return answer;
}

}  // namespace trainyard
