#include "core/result/input_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/units_text.h"
#include "core/cluster/host.h"
#include "core/methods/data/input.h"
#include "core/plan/mesh_axes.h"

namespace trainyard {
namespace {

// Returns how many replicas have devices of their first stage in one node. The first node is as
// full as any, and where it has no whole replica it reads for one.
std::int64_t readers_in_node(const Mesh& mesh, const Cluster& cluster) {
  const MeshAxes stages = group_axes(mesh, Group::Pipeline), data = group_axes(mesh, Group::Data),
                 context = group_axes(mesh, Group::Context);
  std::set<std::int64_t> replicas;
  for (std::int64_t device = 0; device < devices_per_node(cluster); ++device)
    if (place_in(stages, device) == 0)
      // The first device of its context group stands for all that share its samples.
      replicas.insert(place_in(data, member(context, device, 0)));
  return static_cast<std::int64_t>(replicas.size());
}

// Everything that the time of each stage follows from.
struct NodeInput {
  InputPlan plan;
  double step = 0, all = 0;     // samples of the node: of one step, and of its part of the data set
  double memory = 0, disk = 0;  // shares of its samples that these caches have

  double from_storage() const { return step * (1 - memory - disk) * size(plan.stored); }
  double from_disk() const { return step * disk * size(plan.stored); }
  double decoding() const { return step * (1 - memory) * to_seconds(plan.decoding); }  // core-s
  static double size(Bytes bytes) { return static_cast<double>(bytes.value); }
};

NodeInput node_input(const Scenario& s, const InputPlan& plan) {
  NodeInput node{plan};
  const auto replicas = static_cast<double>(s.plan.mesh.dp.value_or(1));
  const double share = static_cast<double>(readers_in_node(s.plan.mesh, s.cluster)) / replicas;
  node.step = static_cast<double>(s.plan.batch.global) * share;
  node.all = static_cast<double>(plan.samples) * share;
  if (!plan.cached || plan.first_epoch) return node;
  const auto part = [&](Bytes room, Bytes each) {
    return std::min(1.0, NodeInput::size(room) / (node.all * NodeInput::size(each)));
  };
  node.memory = part(plan.memory, plan.decoded);
  // The disk has samples that are not in memory.
  node.disk = std::min(1 - node.memory, part(plan.disk_space, plan.stored));
  return node;
}

std::vector<InputStage> stages_of(const Scenario& s, const NodeInput& node) {
  std::vector<InputStage> stages = {
      {"storage", seconds(node.from_storage() / node.plan.storage.value)},
      {"disk", seconds(node.from_disk() / node.plan.disk.value)},
      {"decoding", seconds(node.decoding() / static_cast<double>(node.plan.cores))}};
  if (s.cluster.device.host_link.value.value > 0) {
    // Devices copy beside each other, each what its replica trains on; context ranks have a part.
    const double replica = static_cast<double>(s.plan.batch.global) /
                           static_cast<double>(s.plan.mesh.dp.value_or(1)) /
                           static_cast<double>(s.plan.mesh.cp);
    stages.push_back(
        {"copy", host_copy_time(
                     Bytes{std::llround(std::ceil(replica * NodeInput::size(node.plan.decoded)))},
                     s.cluster)});
  }
  return stages;
}

std::size_t slowest_of(const std::vector<InputStage>& stages) {
  const auto by_time = [](const InputStage& a, const InputStage& b) { return a.time < b.time; };
  return static_cast<std::size_t>(std::max_element(stages.begin(), stages.end(), by_time) -
                                  stages.begin());
}

std::string work_of(const NodeInput& node, std::string_view stage) {
  const auto count = [](double samples) { return fmt::format("{:.0f} samples", samples); };
  if (stage == "storage")
    return fmt::format("reading {} from the shared storage at {}",
                       count(node.step * (1 - node.memory - node.disk)),
                       readable(node.plan.storage));
  if (stage == "disk")
    return fmt::format("reading {} from the disk at {}", count(node.step * node.disk),
                       readable(node.plan.disk));
  if (stage == "decoding")
    return fmt::format("decoding {} on {} cores", count(node.step * (1 - node.memory)),
                       node.plan.cores);
  return "copying samples over the host link";
}

// Returns what would bring the slowest stage down to the step without input.
std::string help_for(const NodeInput& node, const InputStage& stage, Duration step) {
  const double allowed = std::max(1e-9, to_seconds(step)),
               excess = to_seconds(stage.time) / allowed;
  if (stage.name == "copy") return "smaller decoded samples would take less of the link";
  std::string text;
  if (stage.name == "decoding")
    text = fmt::format("{:.0f} cores would keep up",
                       std::ceil(node.decoding() / allowed * (1 - 1e-12)));
  else
    text =
        fmt::format("{} would keep up",
                    readable((stage.name == "disk" ? node.plan.disk : node.plan.storage) * excess));
  if (!node.plan.cached) return text + ", or input=cached from the second epoch on";
  if (node.plan.first_epoch) return text + "; later epochs have what the caches keep";
  // Memory for more decoded samples takes work from each of these stages. Of the storage, the disk
  // takes as much for less.
  const double has = stage.name == "storage" ? node.memory + node.disk : node.memory;
  const double wanted =
      stage.name == "disk" ? node.memory + node.disk * (1 - 1 / excess) : 1 - (1 - has) / excess;
  const bool disk = stage.name == "storage";
  const double bytes = node.all * (disk ? (wanted - node.memory) * NodeInput::size(node.plan.stored)
                                        : wanted * NodeInput::size(node.plan.decoded));
  return text + fmt::format(", or {} of {} for the cache", readable(Bytes{std::llround(bytes)}),
                            disk ? "disk" : "memory");
}

std::string sentence_of(const NodeInput& node, const InputCost& cost, Duration step) {
  const InputStage& stage = cost.stages[cost.slowest];
  std::string text;
  if (cost.waiting > Duration{})
    text =
        fmt::format("the step waits {} for input: {} takes {}; {}", readable(cost.waiting),
                    work_of(node, stage.name), readable(stage.time), help_for(node, stage, step));
  else
    text = fmt::format("keeps up with the step: {} takes {}", work_of(node, stage.name),
                       readable(stage.time));
  if (node.memory + node.disk > 0)
    text += fmt::format("; {} of samples are in memory, {} on disk", readable_share(node.memory),
                        readable_share(node.disk));
  return text;
}

}  // namespace

Duration input_time(const Scenario& s) {
  const std::optional<InputPlan> plan = input_of(s.plan);
  if (!plan) return {};
  const std::vector<InputStage> stages = stages_of(s, node_input(s, *plan));
  return stages[slowest_of(stages)].time;
}

std::optional<InputCost> input_cost(const Scenario& s, Duration step) {
  const std::optional<InputPlan> plan = input_of(s.plan);
  if (!plan) return std::nullopt;
  const NodeInput node = node_input(s, *plan);
  InputCost cost;
  cost.samples = node.step;
  cost.memory_share = node.memory, cost.disk_share = node.disk;
  cost.memory = {std::llround(node.all * node.memory * NodeInput::size(plan->decoded))};
  cost.disk = {std::llround(node.all * node.disk * NodeInput::size(plan->stored))};
  cost.stages = stages_of(s, node);
  cost.slowest = slowest_of(cost.stages);
  cost.waiting = std::max(Duration{}, cost.stages[cost.slowest].time - step);
  cost.sentence = sentence_of(node, cost, step);
  return cost;
}

}  // namespace trainyard
