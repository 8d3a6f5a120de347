#include "app/workspace/runs/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/workspace/runs/recovery_memory.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/run_once.h"
#include "app/workspace/scenario/wave_study.h"
#include "app/workspace/scenario/workspace.h"
#include "backends/cpu/check_training.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/processes.h"
#include "backends/ramped.h"
#include "backends/recording.h"
#include "backends/replay.h"
#include "core/base/digest.h"
#include "core/base/median.h"
#include "core/methods/catalogue.h"
#include "core/methods/data/input.h"
#include "core/methods/settings/settings.h"
#include "core/result/verdict.h"

namespace trainyard {
namespace {

// The program of a run is one step of a synchronous plan, or all steps of an asynchronous one.
int program_steps(const Scenario& scenario, const Training& training) {
  const Workload workload = prepare(scenario);
  const bool asynchronous = has_updates(order(workload, schedule_shape(workload)));
  return asynchronous ? static_cast<int>(std::min<std::int64_t>(training.steps, INT32_MAX)) : 1;
}

// The phases that a training of so many steps reaches: one, where the plan has no ramp.
std::vector<BatchPhase> reached_phases(const Scenario& scenario, const Training& training) {
  throw_if_errors(check(scenario));
  std::vector<BatchPhase> phases = batch_phases(complete(scenario));
  while (phases.size() > 1 && phases.back().first_step >= training.steps) phases.pop_back();
  return phases;
}

// A plan without a ramp is left as it was given, to the last word.
Scenario in_phase(Scenario scenario, const BatchPhase& phase) {
  if (batch_ramp_of(scenario.plan))
    scenario.plan = with_batch(std::move(scenario.plan), phase.batch);
  return scenario;
}

// A rate is settled for updates of the whole batch.
void expect_whole_updates(const Workload& workload, const Training& training) {
  if (training.reference_batch == 0 || !has_updates(order(workload, schedule_shape(workload))))
    return;
  const Plan& plan = workload.scenario.plan;
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected reference-batch=0 beside {}, which updates after a part of its "
                          "batch of {}, found {}: state the rate of its updates",
                          schedule_of(plan).name, plan.batch.global, training.reference_batch),
              {"--train reference-batch"});
}

double peak_rate(const Experiment& phase, const Training& training) {
  return for_batch(training, phase.workload.scenario.plan.batch.global).rate;
}

// A utilisation above one cannot be reported, so the peak is raised to what was reached.
void raise_peak(Workload& workload, const TaskPrices& prices, const Program& program,
                const Timeline& timeline) {
  const StepWindow window = step_window(timeline, program);
  Flops most{};
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(program.devices); ++d) {
    Flops sum{};
    for (const Stream& stream : program.streams)
      if (stream.device.value == d)
        for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
          if (timeline.spans[i].end > window.from && timeline.spans[i].start < window.to)
            sum += prices.flops[program.instructions[i].task.value];
    most = std::max(most, sum);
  }
  const double reached = most.value / std::max(1e-9, to_seconds(window.length()));
  for (Peak& peak : workload.scenario.cluster.device.peaks)
    if (peak.rate.value.value < reached) peak.rate = {{reached}, "reached in this run"};
}

// Prices assume a core with its own clock, read before and after every kernel, and exchanges that
// cost their bytes. On the wall clock that clock is not read, and devices hand exchanges to each
// other's threads, so the band covers how far these can move the step. Observed with dlrm-tiny and
// mlp-small in eight plans each on one 2-core machine, 2026-11.
ExperimentPtr by_wall_clock(const ExperimentPtr& predicted) {
  constexpr Duration kClock = std::chrono::nanoseconds(1400);  // two reads of a thread's clock
  constexpr Duration kHandOver = std::chrono::microseconds(40);
  const Program& program = predicted->program;
  std::int64_t kernels = 0, exchanges = 0;  // on the device with the most
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(program.devices); ++d) {
    std::int64_t computes = 0, others = 0;
    for (const Stream& stream : program.streams)
      for (std::uint32_t i = 0; stream.device.value == d && i < stream.count; ++i)
        ++(program.task(InstructionId{stream.first + i}).kind == TaskKind::Compute ? computes
                                                                                   : others);
    kernels = std::max(kernels, computes), exchanges = std::max(exchanges, others);
  }
  auto wall = std::make_shared<Experiment>(*predicted);
  Banded<Duration>& step = wall->result.step;
  const std::int64_t steps = std::max(1, program.steps);
  step.low = std::max(step.low / 4, step.low - kClock * (kernels / steps));
  step.high += kHandOver * (exchanges / steps);
  step.basis +=
      "; by the wall clock without the clocks of each device, and with threads that hand "
      "exchanges over";
  return wall;
}

}  // namespace

ExperimentPtr predict_training(const Scenario& scenario, const Training& training,
                               const CostModel* cost, std::stop_token stop) {
  const Scenario last = batch_ramp_of(scenario.plan)
                            ? in_phase(scenario, reached_phases(scenario, training).back())
                            : scenario;
  return run_once(last, {.grain = Grain::Op,
                         .cost = cost,
                         .steps = program_steps(last, training),
                         .stop = std::move(stop)});
}

std::shared_ptr<Experiment> measured_experiment(const Experiment& predicted,
                                                const Timeline& timeline,
                                                const std::vector<MemoryWave>& waves,
                                                const CostModel& cost) {
  auto measured = std::make_shared<Experiment>(predicted);
  measured->timeline = timeline;
  measured->waves = waves;
  raise_peak(measured->workload, measured->prices, measured->program, measured->timeline);
  // Its samples were at hand, whatever the plan says of a node that reads them.
  Workload at_hand = measured->workload;
  remove_choice(at_hand.scenario.plan, kSampleInput);
  measured->result = summarize(at_hand, measured->grain, measured->program, measured->prices,
                               measured->timeline, measured->waves, cost);
  measured->result.plan = predicted.result.plan, measured->result.digest = predicted.result.digest;
  measured->result.fidelity = "measured: " + timeline.backend;
  // A measured value has no band.
  Banded<Duration>& step = measured->result.step;
  step.low = step.high = step.value;
  step.basis = "measured";
  for (StageMemory& m : measured->result.memory) m.peak.low = m.peak.high = m.peak.value;
  measured->result.leaves_out.clear();
  measured->result.rules.clear();
  return measured;
}

void expect_fits(const Experiment& predicted, const std::string& expected, const Place& place) {
  const Verdict& verdict = predicted.result.verdict;
  if (!verdict.fits)
    throw Error(Error::Kind::InvalidInput, expected + ": " + verdict.sentence, place);
}

TrainingJob::TrainingJob(TrainingRequest request) : request_(std::move(request)) {
  expect_local(request_.scenario);
  request_.training = at_rate_of(request_.scenario.cluster.device, request_.training);
  throw_if_errors(check(request_.training));
  const Scenario& scenario = request_.scenario;
  predicted_ =
      predict_training(scenario, request_.training, request_.cost.get(), request_.run.stop);
  aligned_peak_ = trainyard::aligned_peak(predicted_->workload.scenario, request_.cost.get(),
                                          request_.run.stop);
  if (batch_ramp_of(scenario.plan)) {
    batches_ = reached_phases(scenario, request_.training);
    for (std::size_t i = 0; i + 1 < batches_.size(); ++i)
      earlier_.push_back(predict_training(in_phase(scenario, batches_[i]), request_.training,
                                          request_.cost.get(), request_.run.stop));
  }
  expect_whole_updates(predicted_->workload, request_.training);
  if (request_.options.mode == RunMode::WallClock) {
    predicted_ = by_wall_clock(predicted_);
    for (ExperimentPtr& phase : earlier_) phase = by_wall_clock(phase);
  }
  if (request_.rules) expect_watchable(*request_.rules, predicted_->workload, updates_together());
  if (request_.numbers > 0 && !updates_together())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a schedule that updates all weights together, whose steps "
                            "have a gradient of each, found {}; try --set schedule=1f1b",
                            schedule_of(predicted_->workload.scenario.plan).name),
                {"--numbers"});
  if (!request_.replay.empty()) {
    backend_ = std::make_unique<Replay>(Replay::of_file(request_.replay, predicted_->program));
    return;
  }
  for (const auto& [name, flag] :
       {std::pair{request_.backend, "--backend"}, {request_.check, "--check"}})
    if (!name.empty()) {
      const BackendEntry& entry = training_backend(name, {flag});
      throw_if_errors(entry.check(job(*predicted_)));
      for (const ExperimentPtr& phase : earlier_) throw_if_errors(entry.check(job(*phase)));
    }
  if (request_.data.empty()) request_.data = default_data(scenario.model);
  data_ = open_data(request_.data, data_seeds(request_.training));
  throw_if_errors(data_->check(scenario.model));
  read_input();
  if (!earlier_.empty()) expect_ramped();
  request_.options.memory_limit = scenario.cluster.device.memory.value;
  if (request_.options.processes != nullptr) expect_processes();
}

TrainingJob::~TrainingJob() = default;

// A process in a lost one's place has not seen the steps before.
void TrainingJob::expect_processes() const {
  throw_if_errors(check_options(job(*predicted_), request_.options));
  if (request_.training.recovery.kills.empty()) return;
  for (const auto& [asked, flag] :
       {std::pair{request_.rules.has_value(), "--rules"}, {request_.numbers > 0, "--numbers"}})
    if (asked)
      throw Error(
          Error::Kind::InvalidInput,
          fmt::format("expected no {} beside processes that cpr-kill takes away: those that "
                      "take their places have not seen the steps before",
                      flag),
          {flag});
}

// Counts what is decoded for a plan that states its input, and keeps it where the plan has a cache.
void TrainingJob::read_input() {
  const std::optional<InputPlan> input = input_of(request_.scenario.plan);
  if (!input) return;
  const bool again = data_->stored_sample(0).has_value(),
             one = request_.options.processes == nullptr;
  if (again && one) {
    auto cache =
        std::make_unique<SampleCache>(std::move(data_), input->cached ? input->memory : Bytes{});
    cache_ = cache.get();
    data_ = std::move(cache);
    return;
  }
  if (!input->cached) return;
  throw Error(
      Error::Kind::InvalidInput,
      again ? "expected one process, in which each sample comes again in every epoch, found "
              "several, each of which reads others; try --set input=none"
            : fmt::format("expected data whose decoded samples come again in every epoch, found "
                          "\"{}\", which has none to keep; try --set input=none",
                          data_->name()),
      {"plan#/choices/input"});
}

BackendJob TrainingJob::job(const Experiment& of) const {
  return {of.workload, of.program, of.prices, &request_.training, data_.get()};
}

// Only the CPU's backends hand weights, optimizer state and counts on from one phase to the next.
void TrainingJob::expect_ramped() const {
  for (const auto& [name, flag] :
       {std::pair{request_.backend, "--backend"}, {request_.check, "--check"}})
    if (!name.empty() && name != "cpu" && !over_processes(name))
      throw Error(
          Error::Kind::InvalidInput,
          "expected cpu, mpi or processes, which go on with a larger batch where the phase of "
          "a batch ramp ends, found \"" +
              name + "\"; try --set batch-ramp=off",
          {flag});
  if (data_->acting())
    throw Error(Error::Kind::InvalidInput,
                "expected data that do not depend on the training beside a batch ramp, found \"" +
                    std::string(data_->name()) +
                    "\", which remembers its episodes in one phase only; try --set batch-ramp=off",
                {"--data"});
}

std::unique_ptr<Backend> TrainingJob::open(const CpuOptions& options) const {
  if (earlier_.empty() && batches_.empty())
    return training_backend(request_.backend, {"--backend"}).open(job(*predicted_), options);
  CpuOptions own = options;
  own.batch_ramp = setting(request_.scenario.plan, kBatchRamp);
  std::vector<Ramped::Phase> phases;
  for (std::size_t i = 0; i < batches_.size(); ++i)
    phases.push_back({batches_[i], job(i < earlier_.size() ? *earlier_[i] : *predicted_)});
  return std::make_unique<Ramped>(std::move(phases), request_.backend, own);
}

// All processes get what the first one has read.
std::optional<StartedFrom> TrainingJob::start() const {
  Processes* const processes = request_.options.processes;
  if (processes != nullptr && processes->took_place()) return std::nullopt;
  if (request_.start_from.empty() || checkpoint_to_resume(request_.options)) return std::nullopt;
  const Model& model = predicted_->workload.scenario.model;
  std::vector<TrainedTensor> fresh = backend_->parameters();
  if (processes == nullptr) {
    StartWeights start = start_weights(load_checkpoint(request_.start_from), model,
                                       std::move(fresh), request_.start_from);
    backend_->set_parameters(start.tensors);
    return std::move(start.report);
  }
  Checkpoint merged;
  std::string wrong;
  std::optional<StartedFrom> report;
  if (processes->rank() == 0) try {
      StartWeights start = start_weights(load_checkpoint(request_.start_from), model,
                                         std::move(fresh), request_.start_from);
      merged.parts = weight_parts(model, start.tensors);
      report = std::move(start.report);
    } catch (const Error& error) {
      wrong = error.what();
    }
  wrong = processes->all_gather(wrong).front();
  if (!wrong.empty()) throw Error(Error::Kind::InvalidInput, wrong, {request_.start_from});
  const bool first = processes->rank() == 0;
  merged = parse_checkpoint(processes->all_gather(first ? to_bytes(merged) : "").front(),
                            request_.start_from);
  backend_->set_parameters(tensors_of(merged, model));
  return report;
}

Bytes TrainingJob::kept() const {
  const Processes* const processes = request_.options.processes;
  KeptBy by;
  if (processes != nullptr) by = {processes->count(), processes->survives_losses()};
  return recovery_memory(checkpoint_bytes(predicted_->workload, predicted_->result),
                         request_.training, by);
}

int TrainingJob::devices() const {
  return static_cast<int>(predicted_->program.devices * predicted_->program.replicas);
}

bool TrainingJob::updates_together() const {
  return !has_updates(order(predicted_->workload, schedule_shape(predicted_->workload)));
}

// Holds what was measured beside what was predicted, where a step was measured whole, and lets
// rules judge it.
void TrainingJob::measure(TrainingReport& report) const {
  const Experiment& predicted = *predicted_;
  const bool whole = report.run.timeline.spans.size() == predicted.program.instructions.size();
  const std::unique_ptr<CostModel> own =
      request_.cost ? nullptr : cost_model(predicted.workload.scenario);
  const std::shared_ptr<Experiment> measured =
      whole ? measured_experiment(predicted, report.run.timeline, report.run.waves,
                                  own ? *own : *request_.cost)
            : nullptr;
  if (request_.rules) {
    report.rules = judge_run(*request_.rules, predicted, measured.get(), report.run, report.step,
                             {request_.replay.empty(), updates_together(), whole});
    if (report.rules->stopped_at > 0)
      report.rules->saved_steps = request_.training.steps - report.rules->stopped_at;
    report.rules->saved = report.step * report.rules->saved_steps;
  }
  if (!measured) return;
  if (report.rules) measured->result.rules = report.rules->fired;
  report.measured = measured;
  report.comparison =
      compare(predicted.program, {predicted.timeline, predicted.waves},
              {report.run.timeline, report.run.waves}, predicted.prices.recompute_share);
}

// The steps of this session by phase.
void TrainingJob::measure_phases(TrainingReport& report) const {
  const std::vector<Duration>& times = report.run.step_times;
  const auto first = report.run.first_step, last = first + static_cast<std::int64_t>(times.size());
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    const Experiment& phase = i < earlier_.size() ? *earlier_[i] : *predicted_;
    const BatchPhase& batches = batches_[i];
    const std::int64_t end = batches.steps > 0 ? batches.first_step + batches.steps : last,
                       from = std::clamp(batches.first_step, first, last) - first,
                       to = std::clamp(end, first, last) - first;
    report.phases.push_back({batches, to - from,
                             phase.result.step.value - phase.result.breakdown.input,
                             median({times.begin() + from, times.begin() + to}),
                             worst_peak(phase.result), peak_rate(phase, request_.training)});
  }
  if (!report.phases.empty()) report.step = report.phases.back().measured;
}

TrainingReport TrainingJob::run(bool evaluate, LiveSink* live) {
  CpuOptions options = request_.options;
  options.live = live;
  TrainingReport report;
  report.predicted = predicted_;
  report.aligned_peak = aligned_peak_;
  if (request_.replay.empty()) {
    report.kept = kept();
    if (request_.rules) options.rules = std::make_shared<RuleRun>(*request_.rules);
    if (request_.numbers > 0)
      report.numbers = options.numbers = std::make_shared<NumberRecord>(request_.numbers);
    backend_ = open(options);
    report.started_from = start();
    report.data = std::string(data_->name()) + ": " + data_->provenance();
    report.rate = peak_rate(*predicted_, request_.training);
  }
  report.backend = backend_->name();
  report.check = request_.check;

  Backend* runs = backend_.get();
  std::unique_ptr<Backend> expected;
  std::optional<Check> check;
  if (!request_.check.empty()) {
    // These are the first backend's.
    options.live = nullptr, options.rules = nullptr, options.numbers = nullptr;
    options.checkpoint.clear();
    expected = training_backend(request_.check, {"--check"}).open(job(*predicted_), options);
    runs = &check.emplace(*runs, *expected, tolerances_of(predicted_->workload));
  }
  std::optional<Recording> recording;
  if (!request_.timeline.empty())
    runs = &recording.emplace(*runs, digest(predicted_->program), request_.timeline);
  report.run = runs->run(request_.run);
  if (check) report.checked = check->report();

  if (cache_ != nullptr) report.input = cache_->counts();

  report.step = median(report.run.step_times);
  measure_phases(report);
  measure(report);
  if (evaluate) {
    // Only the first of several processes has them.
    const std::vector<TrainedTensor> trained = backend_->trained();
    if (!trained.empty())
      report.evaluation = trainyard::evaluate(predicted_->workload, trained, *data_, 0);
  }
  return report;
}

std::vector<TrainedTensor> TrainingJob::parameters() const {
  return backend_ ? backend_->parameters() : std::vector<TrainedTensor>{};
}

}  // namespace trainyard
