#include "app/workspace/runs/branch_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
#include "planners/branches/layer_operators.h"

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
std::vector<OpsOfCores> dealt(const OperatorSchedule& schedule,
                              const std::vector<OperatorTime>& times, int cores) {
  std::vector<OpsOfCores> stages;
  for (const OperatorStage& stage : schedule.stages) {
    OpsOfCores next = deal(stage.groups, times, cores);
    if (next.size() == 1 && !stages.empty() && stages.back().size() == 1)
      stages.back()[0].insert(stages.back()[0].end(), next[0].begin(), next[0].end());
    else
      stages.push_back(std::move(next));
  }
  return stages;
}

// Schedules take turns, so that what else the machine does meets all alike. All bits are compared
// after as many runs, because gradients of weights are added up.
void measure(BranchPass& pass, ConcurrentLayer& layer, const Workload& w, std::size_t body,
             int cores, const BranchQuestion& question) {
  const std::array<RunSchedule*, 3> schedules = {&pass.sequential, &pass.greedy, &pass.best};
  std::vector<std::uint64_t> left;
  for (RunSchedule* one : schedules) {
    ConcurrentLayer own(w, body, pass.backward, cores);
    own.run(dealt(one->schedule, pass.times, cores));
    left.push_back(own.digest());
    one->measured = Duration::max();
  }
  pass.same_bits = left[0] == left[1] && left[0] == left[2];
  for (int round = 0; round < question.rounds; ++round)
    for (RunSchedule* one : schedules) {
      if (question.stop.stop_requested())
        throw Error(Error::Kind::Cancelled, "stopped before the stages were measured");
      one->measured = std::min(one->measured, layer.run(dealt(one->schedule, pass.times, cores)));
    }
}

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
  ConcurrentLayer running(w, body, backward, sharing.cores);
  const ConcurrentLayer::Times times = running.time_ops(question.rounds, question.stop);
  for (std::size_t i = 0; i < times.alone.size(); ++i)
    pass.times.push_back({times.alone[i], times.beside[i]});
  sharing.join = running.time_join(question.rounds);
  const PriceStage price = [&](const OperatorGroups& groups) {
    return StagePrice{stage_time(groups, pass.times, sharing)};
  };
  pass.sequential.schedule = sequential_stages(pass.graph, price);
  pass.greedy.schedule = greedy_stages(pass.graph, price);
  pass.found = best_stages(pass.graph, price, question.limits, question.stop);
  pass.best.schedule = std::exchange(pass.found.schedule, {});
  measure(pass, running, w, body, sharing.cores, question);
  return pass;
}

}  // namespace

BranchStudy branch_study(const Scenario& scenario, const BranchQuestion& question) {
  BranchStudy study;
  study.sharing.cores = cores_of(question);
  study.rounds = question.rounds;
  expect_one_device(scenario);
  const Workload w = prepare(scenario);
  expect_room(w, study.sharing.cores);
  study.machine = describe_machine();
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
  return command;
}

namespace {

constexpr double kLoses = 0.95;

// "backward of stem"
std::string pass_words(const BranchPass& pass) {
  return fmt::format("{} of {}", direction(pass), pass.block);
}

}  // namespace

std::string_view direction(const BranchPass& pass) {
  return pass.backward ? "backward" : "forward";
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
  for (const BranchPass& pass : study.passes) {
    sequential += pass.sequential.measured * pass.layers;
    quickest += std::min({pass.sequential.measured, pass.greedy.measured, pass.best.measured}) *
                pass.layers;
    if (measured_gain(pass) < kLoses) slower.push_back(pass_words(pass));
  }
  const BranchPass* const most = most_gaining(study);
  if (most == nullptr) return {"No layer has two operators, so that there is nothing to schedule."};
  sentences.push_back(fmt::format(
      "The {} gains most: {:.2f} times as fast in {} stages as one operator after another.",
      pass_words(*most), measured_gain(*most), most->best.schedule.stages.size()));
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
  const bool same = std::all_of(study.passes.begin(), study.passes.end(),
                                [](const BranchPass& pass) { return pass.same_bits; });
  sentences.push_back(same ? "All schedules leave the same numbers, bit for bit."
                           : "The schedules leave different numbers, which is an error of this "
                             "program.");
  return sentences;
}

}  // namespace trainyard
