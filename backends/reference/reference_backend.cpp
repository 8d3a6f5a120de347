#include "backends/reference/reference_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/anchored.h"
#include "backends/documents.h"
#include "backends/initial_weights.h"
#include "backends/reference/reference_optimizer.h"
#include "backends/reference/schedule.h"
#include "core/methods/catalogue.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/methods/settings/settings.h"
#include "core/plan/shared_statistics.h"
#include "core/program/facts.h"

namespace trainyard {
namespace {

// Some four gigabytes of program.
constexpr double kMostInstructionsExecuted = 20e6;

bool is_asynchronous(const Workload& w) { return has_updates(order(w, schedule_shape(w))); }

void refuse_training(Diagnostics& found, std::string sentence, std::string place, std::string fix) {
  found.push_back({Diagnostic::Severity::Error,
                   "the reference trains at a constant rate, without decay or clipping, found " +
                       std::move(sentence),
                   {std::move(place)},
                   std::move(fix)});
}

void check_training(const Workload& w, const Training& t, Diagnostics& found) {
  const std::string& optimizer = w.scenario.plan.optimizer;
  if (is_asynchronous(w) && !is_update_rule(optimizer))
    found.push_back({Diagnostic::Severity::Error,
                     "the reference trains asynchronous schedules by sgd or momentum, found the "
                     "optimizer " +
                         optimizer,
                     {"plan#/optimizer"},
                     "optimizer=momentum"});
  const auto refuse_key = [&](bool wrong, std::string_view key, std::string_view plain) {
    if (!wrong) return;
    const auto keys = training_keys();
    const auto entry =
        std::find_if(keys.begin(), keys.end(), [&](const TrainingKey& k) { return k.key == key; });
    refuse_training(found, fmt::format("{}={}", key, entry->read(t)), "--train",
                    fmt::format("--train {}={}", key, plain));
  };
  refuse_key(t.schedule != RateSchedule::Constant, "schedule", "constant");
  refuse_key(t.warmup != 0, "warmup", "0");
  refuse_key(t.weight_decay != 0, "weight-decay", "0");
  refuse_key(t.clip != 0, "clip", "0");
  refuse_key(t.nesterov, "nesterov", "off");
  refuse_key(t.sparsity != 0, "sparsity", "0");
  refuse_key(t.stability != 0, "stability", "0");
  refuse_key(t.weight_clip != 0, "weight-clip", "0");
  refuse_key(t.bit_errors != 0, "bit-errors", "0");
  refuse_key(t.flips.flips(), "flip-bits", "off");
  refuse_key(t.flips.checks(), "flip-check", "off");
  refuse_key(t.recovery.on(), "cpr", "off");
}

/// One rule for all stages, or where the schedule corrects for delays the rule of each stage.
std::vector<UpdateRule> rules_of(const Workload& w, const Program& program, const Training& asked) {
  const Training t = for_batch(asked, w.scenario.plan.batch.global);
  const double momentum = w.scenario.plan.optimizer == "momentum" ? t.momentum : 0;
  UpdateRule rule;
  rule.rate = t.rate;
  rule.momentum = momentum;
  if (!is_asynchronous(w)) return {rule};
  const Method& schedule = schedule_of(w.scenario.plan);
  const Choice* choice = find_choice(w.scenario.plan, schedule.name);
  std::vector<UpdateRule> rules(w.runs.size(), rule);
  for (const StageFacts& f : facts(program))
    rules[f.stage.value] = update_rule_of(schedule.name, choice->params, f, t.rate, momentum);
  return rules;
}

HostTensor fetch(const Workload& w, const DataSource& source, const ReferenceInput& in) {
  const DataRequest request{.model = w.scenario.model,
                            .graph = in.graph,
                            .tensor = in.tensor,
                            .shape = in.shape,
                            .first_sample = in.microbatch * w.layout.binding.micro_batch};
  HostTensor made = zeros(in.shape);
  const auto fill = [&](auto values) {
    source.fill(request, std::span(values));
    std::copy(values.begin(), values.end(), made.values.begin());
  };
  if (in.graph[in.tensor].kind == TensorKind::Index)
    fill(std::vector<std::int64_t>(made.values.size()));
  else
    fill(std::vector<float>(made.values.size()));
  return made;
}

template <class List>
auto find_parameter(List& list, int layer, std::string_view name) {
  return std::find_if(list.begin(), list.end(),
                      [&](const auto& t) { return t.layer == layer && t.name == name; });
}

// Where a stage has two copies, one of them speaks for both.
std::vector<TrainedTensor> initial_parameters(const ReferenceSchedule& schedule,
                                              const Training& training) {
  std::vector<TrainedTensor> list;
  for (const StagePlace& place : schedule.places)
    for (const StageParameter& p : place.parameters) {
      const bool listed = find_parameter(list, p.model_layer, p.name) != list.end();
      if (p.shares >= 0 || listed) continue;
      const Graph& graph =
          schedule.workload.scenario.model.blocks[static_cast<std::size_t>(p.block)].graph;
      list.push_back({p.model_layer, p.name, p.shape,
                      initial_weights(graph, p.tensor, p.shape, p.model_layer, training)});
    }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.layer < b.layer; });
  return list;
}

}  // namespace

Diagnostics ReferenceBackend::check(const BackendJob& job) {
  if (job.training == nullptr)
    return {{Diagnostic::Severity::Error,
             "the reference trains, and was given no training",
             {"training"},
             ""}};
  Diagnostics found = ReferenceMachine::check(job.workload, job.program);
  check_training(job.workload, *job.training, found);
  check_anchored(job, "the reference", found);
  const Plan& plan = job.workload.scenario.plan;
  if (reduce_of(plan) != Reduce::Mean && job.program.replicas > 1)
    found.push_back({Diagnostic::Severity::Error,
                     "the reference takes the mean of replicas' gradients, found reduce=" +
                         find_choice(plan, kAdasum)->params.text(kReduce),
                     {"plan#/choices/adasum"},
                     "reduce=mean"});
  if (compression_of(plan).how != Compress::None)
    found.push_back({Diagnostic::Severity::Error,
                     "the reference sends replicas' gradients whole, found compression=" +
                         setting(plan, kCompression),
                     {"plan#/choices/compression"},
                     "compression=none"});
  if (shares_statistics(plan))
    found.push_back({Diagnostic::Severity::Error,
                     "the reference normalises by the samples of one replica, found "
                     "batch-norm=replicas",
                     {"plan#/choices/batch-norm-statistics"},
                     "batch-norm=replica"});
  if (synchrony_of(plan).relaxed())
    found.push_back({Diagnostic::Severity::Error,
                     "the reference adds up replicas' gradients in every step, found sync=" +
                         setting(plan, kSync),
                     {"plan#/choices/sync"},
                     "sync=bsp"});
  const std::int64_t repetitions =
      is_asynchronous(job.workload) ? 1 : std::max<std::int64_t>(1, job.training->steps);
  const double instructions =
      static_cast<double>(job.program.instructions.size()) * static_cast<double>(repetitions);
  if (instructions > kMostInstructionsExecuted)
    found.push_back(
        {Diagnostic::Severity::Error,
         fmt::format("the reference executes all steps as one program of at most {:.0f} "
                     "million instructions, found {:.0f} million",
                     kMostInstructionsExecuted / 1e6, instructions / 1e6),
         {"--steps"},
         "fewer steps"});
  if (repetitions > 1 && !job.workload.scenario.plan.order.empty())
    found.push_back({Diagnostic::Severity::Error,
                     "the reference executes all steps as one program, and an edited order is that "
                     "of one step",
                     {"plan#/order"},
                     "--steps 1"});
  if (job.data != nullptr && job.data->acting())
    found.push_back({Diagnostic::Severity::Error,
                     "the reference executes all steps as one program, and " +
                         std::string(job.data->name()) + " acts between two of them",
                     {"--data"},
                     "--backend cpu"});
  if (job.workload.layout.binding.documents != nullptr)
    check_documents(job, "the reference", found);
  else if (job.data != nullptr)
    for (Diagnostic& d : job.data->check(job.workload.scenario.model))
      found.push_back(std::move(d));
  return found;
}

ReferenceBackend::ReferenceBackend(const BackendJob& job)
    : job_(job), documents_(documents_of(job)), anchored_(anchored_data(job)) {
  throw_if_errors(check(job));
  const bool repeated = !is_asynchronous(job.workload) && job.training->steps != job.program.steps;
  if (repeated)
    whole_ =
        lower(job.workload, {.grain = Grain::Op, .steps = static_cast<int>(job.training->steps)});
  machine_ =
      std::make_unique<const ReferenceMachine>(job.workload, repeated ? whole_ : job.program);
  parameters_ = initial_parameters(machine_->schedule(), *job.training);
}

ReferenceOptions ReferenceBackend::options_of(const RunOptions& options) const {
  const Program& program = machine_->schedule().program;
  ReferenceOptions made;
  made.seed = seed_of(*job_.training, RandomSource::Dropout);
  made.rules = rules_of(job_.workload, program, *job_.training);
  const std::string_view optimizer = job_.workload.scenario.plan.optimizer;
  if (!is_update_rule(optimizer))
    made.optimizer = [this, optimizer](const std::vector<StageParameter>& parameters) {
      const Scenario& scenario = job_.workload.scenario;
      return reference_optimizer(scenario.model, parameters, optimizer,
                                 for_batch(*job_.training, scenario.plan.batch.global),
                                 halp_of(scenario.plan));
    };
  if (trains_by_halp(job_.workload.scenario.plan)) made.halp = halp_of(job_.workload.scenario.plan);
  made.stop = options.stop;
  made.regrowth = regrowth_of(job_.workload.scenario.plan);
  made.steps = job_.training->steps;
  made.weight_seed = seed_of(*job_.training, RandomSource::Weights);
  const DataSource& data = documents_ ? *documents_ : anchored_ ? *anchored_ : *job_.data;
  made.data = [this, &data](const ReferenceInput& in) { return fetch(job_.workload, data, in); };
  if (auto stream = document_stream(job_.workload, seed_of(*job_.training, RandomSource::Order)))
    made.documents = [stream = *std::move(stream),
                      micro = job_.workload.scenario.plan.batch.micro](std::int64_t microbatch) {
      return stream.bounds(microbatch * micro, micro, stream.plan().sequence);
    };
  made.weights = [this](ReferenceParameter& p) {
    const auto found = find_parameter(parameters_, p.layer, p.name);
    std::copy(found->values.begin(), found->values.end(), p.weights.values.begin());
  };
  if (options.progress)
    made.updated = [done = 0.0, all = static_cast<double>(program.stages) * program.steps,
                    progress = options.progress](StageId, int,
                                                 std::span<const ParameterState>) mutable {
      progress(std::min(1.0, ++done / all));
    };
  return made;
}

BackendRun ReferenceBackend::run(const RunOptions& options) {
  BackendRun result;
  result.timeline.backend = name();
  ReferenceRun done;
  try {
    done = machine_->run(options_of(options));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::Cancelled) throw;
    result.stopped = true;
    return result;
  }
  result.losses = std::move(done.step_losses);
  result.microbatch_losses = std::move(done.losses);
  // Where a stage has two copies, the first one speaks for both.
  std::reverse(done.parameters.begin(), done.parameters.end());
  for (const ReferenceParameter& p : done.parameters) {
    const auto held = find_parameter(parameters_, p.layer, p.name);
    held->values.assign(p.weights.values.begin(), p.weights.values.end());
  }
  return result;
}

void ReferenceBackend::set_parameters(const std::vector<TrainedTensor>& tensors) {
  for (TrainedTensor& own : parameters_) {
    const auto given = find_parameter(tensors, own.layer, own.name);
    if (given == tensors.end() || given->shape != own.shape)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected the parameter \"{}\" of layer {}, found {}", own.name,
                              own.layer, given == tensors.end() ? "none" : "another shape"));
    own.values = given->values;
  }
}

}  // namespace trainyard
