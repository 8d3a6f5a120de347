#include "app/workspace/runs/branch_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "backends/cpu/calibration/calibrate.h"
#include "backends/cpu/calibration/concurrent_layer.h"
#include "backends/cpu/kernels/weight_pass.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/lowering/lower.h"
#include "core/model/merged_nodes.h"
#include "planners/branches/layer_operators.h"
#include "planners/branches/operator_merges.h"

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

void price_again(OperatorSchedule& schedule, const std::vector<OperatorTime>& times,
                 const CoreSharing& sharing) {
  schedule.time = {};
  for (OperatorStage& stage : schedule.stages) {
    stage.price.time = stage_time(stage.as_run(), times, sharing);
    schedule.time += stage.price.time;
  }
}

// Schedules and single operators take turns, so that what else the machine does meets all alike.
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
    layer.time_ops(least);
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

// Counts the operations of merged operators, and those of their parts one by one.
void count_merged_work(BranchPass& pass, const Graph& graph, const Workload& w, const Body& body,
                       const std::vector<BodyOp>& ops) {
  for (const OperatorMerge& merge : pass.graph.merges) {
    std::vector<const Node*> nodes;
    Flops apart{};
    for (const int one : merge.operators) {
      const BodyOp& op = ops[static_cast<std::size_t>(one)];
      nodes.push_back(&graph[op.node]);
      apart += op.work.flops;
    }
    const BodyOp& op = ops[static_cast<std::size_t>(merge.operators.front())];
    const Graph merged = merged_nodes(graph, nodes);
    pass.works.push_back(
        merged.nodes[0].op->work({merged, merged.nodes[0], body.binding, w.layout.precision},
                                 op.recomputed ? Pass::Forward : op.pass));
    pass.apart.push_back(apart);
  }
}

constexpr int kFirstRounds = 4;  // one of so many goes before the search for stages

bool in_floats(const Workload& w) { return w.layout.precision.activation == DType::F32; }

BranchPass study_pass(const Workload& w, std::size_t body, bool backward, CoreSharing& sharing,
                      const BranchQuestion& question) {
  const Body& layer = w.bodies[body];
  const Block& block = w.scenario.model.blocks[static_cast<std::size_t>(layer.block)];
  BranchPass pass{block.name, 0, backward, {}, {}, {}, {}, {}, {}, true};
  for (const std::vector<Workload::Run>& runs : w.runs)
    for (const Workload::Run& run : runs)
      if (static_cast<std::size_t>(run.body) == body) pass.layers += run.count;
  const std::vector<BodyOp>& ops = backward ? layer.backward : layer.forward;
  pass.graph = layer_operators(block.graph, layer, ops, weight_pass_reads_gradient);
  for (const BodyOp& op : ops) pass.parts.push_back(op.pass);
  if (pass.graph.operators.size() < 2) return pass;
  if (question.strategy != StageStrategy::Concurrent && in_floats(w))
    pass.graph.merges = operator_merges(block.graph, ops, pass.graph);
  count_merged_work(pass, block.graph, w, layer, ops);
  ConcurrentLayer running(w, body, backward, sharing.cores, merged_operators(pass));
  ConcurrentLayer::Times least;
  for (int round = 0; round < question.rounds; round += kFirstRounds) {
    expect_going_on(question.stop);
    running.time_ops(least);
  }
  take_times(pass, sharing, least);
  const PriceStage price = [&](const OperatorGroups& groups) {
    return StagePrice{stage_time(groups, pass.times, sharing), {}};
  };
  pass.sequential.schedule = sequential_stages(pass.graph, price);
  pass.greedy.schedule = greedy_stages(pass.graph, price);
  if (question.strategy == StageStrategy::Merged) {
    pass.best.schedule = merged_stages(pass.graph, pass.times);
  } else if (pass.graph.merges.empty()) {
    pass.found = best_stages(pass.graph, price, question.limits, question.stop);
    pass.best.schedule = std::exchange(pass.found.schedule, {});
  } else {
    StrategyStages stages =
        strategy_stages(pass.graph, pass.times, sharing, question.limits, question.stop);
    pass.found = std::move(stages.both);
    pass.best.schedule = std::exchange(pass.found.schedule, {});
    pass.concurrent.schedule = std::move(stages.concurrent);
    pass.merged.schedule = std::move(stages.merged);
  }
  deal_stages(pass, sharing.cores);
  compare_numbers(pass, w, body, sharing.cores);
  measure(pass, running, least, question);
  take_times(pass, sharing, least);
  for (RunSchedule* one : run_schedules(pass)) price_again(one->schedule, pass.times, sharing);
  keep_the_quickest(pass, question.strategy);
  return pass;
}

}  // namespace

BranchStudy branch_study(const Scenario& scenario, const BranchQuestion& question) {
  BranchStudy study;
  study.sharing.cores = cores_of(question);
  study.rounds = question.rounds, study.strategy = question.strategy;
  expect_one_device(scenario);
  const Workload w = prepare(scenario);
  expect_room(w, study.sharing.cores);
  study.machine = describe_machine(), study.in_floats = in_floats(w);
  for (std::size_t body = 0; body < w.bodies.size(); ++body)
    for (const bool backward : {false, true}) {
      BranchPass pass = study_pass(w, body, backward, study.sharing, question);
      if (pass.graph.operators.size() > 1) study.passes.push_back(std::move(pass));
      if (question.progress)
        question.progress((static_cast<double>(body) + (backward ? 1 : 0.5)) /
                          static_cast<double>(w.bodies.size()));
    }
  return study;
}

std::string branch_command(const Request& request, const BranchQuestion& question) {
  std::string command = "trainyard branches --model " + shell_word(request.model);
  for (const std::string& word : request.settings) command += " --set " + shell_word(word);
  const BranchQuestion usual;
  const auto add = [&](const char* flag, int value, int left_out) {
    if (value != left_out) command += fmt::format(" --{} {}", flag, value);
  };
  add("cores", question.cores, usual.cores);
  add("rounds", question.rounds, usual.rounds);
  add("group-size", question.limits.group_size, usual.limits.group_size);
  add("groups", question.limits.groups, usual.limits.groups);
  if (question.strategy != usual.strategy)
    command += fmt::format(" --strategy {}", to_string(question.strategy));
  return command;
}

namespace {

constexpr double kLoses = 0.95;

double gain_of_merging(const BranchPass& pass) {
  return to_seconds(pass.concurrent.measured) / to_seconds(pass.best.measured);
}

// "backward of stem"
std::string pass_words(const BranchPass& pass) {
  return fmt::format("{} of {}", direction(pass), pass.block);
}

}  // namespace

std::string_view direction(const BranchPass& pass) {
  return pass.backward ? "backward" : "forward";
}

const std::string& operator_name(const BranchPass& pass, int op) {
  const auto at = static_cast<std::size_t>(op);
  const std::size_t operators = pass.graph.operators.size();
  return at < operators ? pass.graph.operators[at].name : pass.graph.merges[at - operators].name;
}

std::vector<std::pair<std::string_view, const RunSchedule*>> schedules_of(const BranchPass& pass) {
  std::vector<std::pair<std::string_view, const RunSchedule*>> list;
  const std::pair<std::string_view, const RunSchedule*> all[] = {
      {"one after another", &pass.sequential},
      {"greedy", &pass.greedy},
      {"concurrent", &pass.concurrent},
      {"merged", &pass.merged},
      {"best", &pass.best}};
  for (const auto& one : all)
    if (!one.second->schedule.stages.empty()) list.push_back(one);
  return list;
}

bool merges_operators(const BranchPass& pass, const RunSchedule& run) {
  for (const OperatorStage& stage : run.schedule.stages)
    for (const OperatorGroup& group : stage.as_run())
      for (const int one : group)
        if (static_cast<std::size_t>(one) >= pass.graph.operators.size()) return true;
  return false;
}

double measured_gain(const BranchPass& pass) {
  return to_seconds(pass.sequential.measured) / to_seconds(pass.best.measured);
}

const BranchPass* most_gaining(const BranchStudy& study, std::string_view block) {
  const BranchPass* most = nullptr;
  for (const BranchPass& pass : study.passes)
    if ((block.empty() || pass.block == block) &&
        (most == nullptr || measured_gain(pass) > measured_gain(*most)))
      most = &pass;
  return most;
}

std::vector<std::string> branch_sentences(const BranchStudy& study) {
  std::vector<std::string> sentences;
  Duration sequential{}, quickest{};
  std::vector<std::string> slower;  // passes whose best stages lose by more than the noise
  double difference = 0;
  bool merges = false;
  const BranchPass* by_merging = nullptr;
  for (const BranchPass& pass : study.passes) {
    sequential += pass.sequential.measured * pass.layers;
    Duration least = Duration::max();
    for (const auto& [name, run] : schedules_of(pass)) least = std::min(least, run->measured);
    quickest += least * pass.layers;
    if (measured_gain(pass) < kLoses) slower.push_back(pass_words(pass));
    difference = std::max(difference, pass.merged_difference);
    if (!merges_operators(pass, pass.best)) continue;
    merges = true;
    if (!pass.concurrent.schedule.stages.empty() &&
        (by_merging == nullptr || gain_of_merging(pass) > gain_of_merging(*by_merging)))
      by_merging = &pass;
  }
  const BranchPass* const most = most_gaining(study);
  if (most == nullptr) return {"No layer has two operators, so that there is nothing to schedule."};
  sentences.push_back(fmt::format(
      "The {} gains most: {:.2f} times as fast in {} stage{} as one operator after another.",
      pass_words(*most), measured_gain(*most), most->best.schedule.stages.size(),
      most->best.schedule.stages.size() == 1 ? "" : "s"));
  sentences.push_back(fmt::format(
      "All layers of a microbatch take {} one operator after another and {} where each "
      "pass runs as it is quickest, {:.2f} times as fast.",
      readable(sequential), readable(quickest), to_seconds(sequential) / to_seconds(quickest)));
  if (!slower.empty())
    sentences.push_back(fmt::format(
        "Best by prediction and yet slower than one operator after another: the stages of the {}. "
        "Either its operators are too short to be handed to other cores, or something else kept "
        "these busy.",
        fmt::join(slower, ", of the ")));
  if (study.strategy != StageStrategy::Concurrent && !study.in_floats)
    sentences.push_back(
        "Operators are merged in 4-byte floats alone, and tensors of this plan are in another "
        "format, so that none is merged; --set precision=fp32 has them in 4-byte floats.");
  else if (study.strategy != StageStrategy::Concurrent && !merges)
    sentences.push_back(
        "No stages have merged operators: none of one input are alike, or they take less apart.");
  if (by_merging != nullptr)
    sentences.push_back(
        fmt::format("Merged operators gain most in the {}: {:.2f} times as fast as the best stages "
                    "that merge nothing.",
                    pass_words(*by_merging), gain_of_merging(*by_merging)));
  const bool same = std::all_of(study.passes.begin(), study.passes.end(),
                                [](const BranchPass& pass) { return pass.same_bits; });
  const std::string_view all =
      difference > 0 ? "All schedules that merge nothing leave" : "All schedules leave";
  sentences.push_back(same ? fmt::format("{} the same numbers, bit for bit.", all)
                           : "The schedules leave different numbers, which is an error of this "
                             "program.");
  if (difference > 0)
    sentences.push_back(
        difference <= kMostMergedDifference
            ? fmt::format("Merged operators sum in another order: their numbers are within {:.1g} "
                          "of these, of the largest of each tensor.",
                          difference)
            : fmt::format("Merged operators leave numbers that are {:.1g} off, of the largest of a "
                          "tensor, which is an error of this program.",
                          difference));
  return sentences;
}

}  // namespace trainyard
