#include "app/workspace/runs/branches/branch_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "app/workspace/runs/branches/branch_prices.h"
#include "app/workspace/runs/branches/branch_stages.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "backends/cpu/calibration/calibrate.h"
#include "backends/cpu/calibration/concurrent_layer.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/lowering/lower.h"
#include "planners/branches/handover.h"

namespace trainyard {
namespace {

int cores_of(const BranchQuestion& question) {
  const int has = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (question.cores > has)
    refuse_flag("cores", fmt::format("expected at most the {} cores of this machine, found {}", has,
                                     question.cores));
  return question.cores > 0 ? question.cores : has;
}

void expect_one_device(const Scenario& scenario) {
  expect_local(scenario);
  if (scenario.cluster.count != 1)
    refuse_flag("cluster",
                fmt::format("expected one device, cpu:1, whose layers nothing divides, found {}",
                            scenario.cluster.name));
}

// Each core has operands of its own for one layer of each kind.
void expect_room(const Workload& w, int cores) {
  Bytes all{};
  for (const Body& body : w.bodies) {
    const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
    for (const Tensor& tensor : graph.tensors) {
      // A parameter has a gradient, a master copy and two moments, and an activation a gradient.
      const std::int64_t each = tensor.kind == TensorKind::Parameter ? 5 : 2;
      all += Bytes{std::min(local_elements(tensor.shape, body.binding), std::int64_t{1} << 40) * 4 *
                   each};
    }
    all += saved_bytes(body);
  }
  all = all * cores;
  const Bytes room = w.scenario.cluster.device.memory.value;
  if (all > room)
    refuse_flag("model", fmt::format("expected layers whose operands fit into the {} of this "
                                     "machine, found {} for a layer of each kind on {} cores",
                                     readable(room), readable(all), cores));
}

// Stages of one core that follow each other are one, because there is nothing to wait for between.
std::vector<OpsOfCores> stages_of_cores(const OperatorSchedule& schedule) {
  std::vector<OpsOfCores> stages;
  for (const OperatorStage& stage : schedule.stages) {
    OpsOfCores next = stage.as_run();
    if (next.size() == 1 && !stages.empty() && stages.back().size() == 1)
      stages.back()[0].insert(stages.back()[0].end(), next[0].begin(), next[0].end());
    else
      stages.push_back(std::move(next));
  }
  return stages;
}

void expect_going_on(const std::stop_token& stop) {
  if (stop.stop_requested())
    throw Error(Error::Kind::Cancelled, "stopped before all operators were measured");
}

std::vector<std::vector<int>> merged_operators(const BranchPass& pass) {
  std::vector<std::vector<int>> merges;
  for (const OperatorMerge& merge : pass.graph.merges) merges.push_back(merge.operators);
  return merges;
}

std::vector<RunSchedule*> run_schedules(BranchPass& pass) {
  std::vector<RunSchedule*> list;
  for (RunSchedule* one :
       {&pass.sequential, &pass.greedy, &pass.concurrent, &pass.merged, &pass.best})
    if (!one->schedule.stages.empty()) list.push_back(one);
  return list;
}

// Numbers are compared after as many runs, because gradients of weights are added up.
void compare_numbers(BranchPass& pass, const Workload& w, std::size_t body, int cores) {
  std::optional<ConcurrentLayer> first;
  for (RunSchedule* one : run_schedules(pass)) {
    ConcurrentLayer own(w, body, pass.backward, cores, merged_operators(pass));
    ConcurrentLayer& layer = first ? own : first.emplace(w, body, pass.backward, cores);
    layer.run(stages_of_cores(one->schedule));
    if (&layer != &own) continue;
    if (merges_operators(pass, *one))
      pass.merged_difference = std::max(pass.merged_difference, own.difference(*first));
    else
      pass.same_bits = pass.same_bits && own.digest() == first->digest();
  }
}

// The groups of every stage become what each core runs, which later times must not deal anew.
void deal_stages(BranchPass& pass, int cores) {
  for (RunSchedule* one : run_schedules(pass))
    for (OperatorStage& stage : one->schedule.stages)
      stage.price.run = deal(stage.as_run(), pass.times, cores);
}

void take_times(BranchPass& pass, CoreSharing& sharing, const ConcurrentLayer::Times& least) {
  pass.times.clear();
  for (std::size_t i = 0; i < least.alone.size(); ++i)
    pass.times.push_back({least.alone[i], least.beside[i]});
  sharing.join = least.join;
}

// Operators take longer by what is handed to them.
void price_again(OperatorSchedule& schedule, const BranchPass& pass, const CoreSharing& sharing) {
  std::vector<OperatorGroups> stages;
  for (const OperatorStage& stage : schedule.stages) stages.push_back(stage.as_run());
  const std::vector<std::int64_t> handed = handed_bytes(pass.graph, stages);
  std::vector<OperatorTime> times = pass.times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Duration more = seconds(pass.handover * static_cast<double>(handed[i]));
    times[i].alone += more, times[i].beside += more;
  }
  schedule.time = {};
  for (OperatorStage& stage : schedule.stages) {
    stage.price.time = stage_time(stage.as_run(), times, sharing);
    schedule.time += stage.price.time;
  }
}

// Operators on alternating cores take longer by what is handed to them.
double handover_of(const BranchPass& pass, const std::vector<Duration>& alternating, int cores) {
  const std::vector<std::int64_t> handed =
      handed_bytes(pass.graph, alternating_stages(pass.graph, cores));
  Duration longer{};
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < alternating.size(); ++i)
    longer += alternating[i] - pass.times[i].alone, bytes += handed[i];
  return bytes > 0 ? std::max(0.0, to_seconds(longer)) / static_cast<double>(bytes) : 0;
}

// Schedules and, every other round, single operators take turns, so that what else the machine does
// meets all alike.
// Schedules that run the same are run once.
void measure(BranchPass& pass, ConcurrentLayer& layer, ConcurrentLayer::Times& least,
             const BranchQuestion& question) {
  std::vector<std::pair<std::vector<OpsOfCores>, Duration>> different;
  std::vector<std::pair<RunSchedule*, std::size_t>> which;
  for (RunSchedule* one : run_schedules(pass)) {
    std::vector<OpsOfCores> stages = stages_of_cores(one->schedule);
    const auto same = std::find_if(different.begin(), different.end(),
                                   [&](const auto& other) { return other.first == stages; });
    which.emplace_back(one, static_cast<std::size_t>(same - different.begin()));
    if (same == different.end()) different.emplace_back(std::move(stages), Duration::max());
  }
  for (int round = 0; round < question.rounds; ++round) {
    expect_going_on(question.stop);
    for (auto& [stages, shortest] : different) shortest = std::min(shortest, layer.run(stages));
    if (round % 2 == 0) layer.time_ops(least);
  }
  for (const auto& [one, at] : which) one->measured = different[at].second;
}

// Stages were found by the times of the first rounds. By those of all rounds another schedule that
// was run, and that the strategy allows, may be the quicker one.
void keep_the_quickest(BranchPass& pass, StageStrategy strategy) {
  const auto lower = [](RunSchedule& one, std::initializer_list<const RunSchedule*> others) {
    for (const RunSchedule* other : others)
      if (!one.schedule.stages.empty() && !other->schedule.stages.empty() &&
          other->schedule.time < one.schedule.time)
        one = *other;
  };
  lower(pass.concurrent, {&pass.sequential, &pass.greedy});
  lower(pass.merged, {&pass.sequential});
  lower(pass.best, {&pass.sequential, &pass.concurrent, &pass.merged});
  if (strategy != StageStrategy::Merged) lower(pass.best, {&pass.greedy});
}

constexpr int kFirstRounds = 4;  // one of so many goes before the search for stages

bool in_floats(const Workload& w) { return w.layout.precision.activation == DType::F32; }

BranchPass measured_pass(const Workload& w, std::size_t body, bool backward, CoreSharing& sharing,
                         const BranchQuestion& question) {
  BranchPass pass = operators_of(w, body, backward,
                                 question.strategy != StageStrategy::Concurrent && in_floats(w));
  if (pass.graph.operators.size() < 2) return pass;
  ConcurrentLayer running(w, body, backward, sharing.cores, merged_operators(pass));
  ConcurrentLayer::Times least;
  for (int round = 0; round < question.rounds; round += kFirstRounds) {
    expect_going_on(question.stop);
    running.time_ops(least);
  }
  take_times(pass, sharing, least);
  find_stages(pass, sharing, question);
  deal_stages(pass, sharing.cores);
  compare_numbers(pass, w, body, sharing.cores);
  measure(pass, running, least, question);
  take_times(pass, sharing, least);
  if (sharing.cores > 1) pass.handover = handover_of(pass, least.alternating, sharing.cores);
  for (RunSchedule* one : run_schedules(pass)) price_again(one->schedule, pass, sharing);
  keep_the_quickest(pass, question.strategy);
  return pass;
}

BranchStudy measured_branches(const Scenario& scenario, const BranchQuestion& question) {
  BranchStudy study;
  study.sharing.cores = cores_of(question);
  study.rounds = question.rounds;
  expect_one_device(scenario);
  const Workload w = prepare(scenario);
  expect_room(w, study.sharing.cores);
  study.machine = describe_machine(), study.in_floats = in_floats(w);
  study_passes(study, w, question, [&](std::size_t body, bool backward) {
    return measured_pass(w, body, backward, study.sharing, question);
  });
  return study;
}

}  // namespace

BranchStudy branch_study(const Scenario& scenario, const BranchQuestion& question,
                         const std::string& calibration) {
  BranchStudy study = question.prices == OperatorPrices::Measured
                          ? measured_branches(scenario, question)
                          : priced_branches(scenario, question, calibration);
  study.strategy = question.strategy, study.prices = question.prices;
  return study;
}

}  // namespace trainyard
