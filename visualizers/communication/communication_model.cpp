#include "visualizers/communication/communication_model.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/cost/collectives/bus_bandwidth.h"
#include "core/result/roofline_points.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

// Of one task: how often it runs, where, and who is at its other end.
struct Runs {
  std::int64_t count = 0;
  DeviceId on, with;
};

std::vector<Runs> runs_of(const Program& program) {
  std::vector<Runs> runs(program.tasks.size());
  std::vector<DeviceId> device(program.instructions.size());
  for (const Stream& stream : program.streams)
    std::fill_n(device.begin() + stream.first, stream.count, stream.device);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    Runs& run = runs[instruction.task.value];
    ++run.count;
    run.on = device[i];
    if (instruction.peer.valid()) run.with = device[instruction.peer.value];
  }
  return runs;
}

double messages_of(const CommunicationFlow& flow) {
  const auto others = static_cast<double>(flow.ranks - 1);
  if (flow.kind == TaskKind::Send) return 1;
  return flow.collective == CollectiveKind::AllReduce ? 2 * others : others;
}

bool is_pair(const CommunicationFlow& flow) {
  return flow.kind == TaskKind::Send || flow.group == Group::Copies;
}

void price(CommunicationFlow& flow, const Workload& workload, const CostModel& cost) {
  const Cluster& cluster = workload.scenario.cluster;
  const Mesh& mesh = workload.scenario.plan.mesh;
  Bytes sent = flow.each;
  if (flow.kind == TaskKind::Send) {
    flow.level = pipeline_level(mesh, cluster);
    flow.time = cost.transfer(flow.each, cluster, flow.level);
  } else {
    const CollectiveTime priced =
        cost.collective(flow.collective, flow.each,
                        group_shape(mesh, flow.group, cluster, workload.shard), cluster);
    flow.time = priced.time;
    flow.algorithm = priced.algorithm;
    flow.level = priced.level;
    sent = sent_bytes(flow.collective, flow.each, flow.ranks);
  }
  flow.bytes = static_cast<double>(sent.value) * flow.calls;
  flow.messages = messages_of(flow) * flow.calls;
  flow.seconds = to_seconds(flow.time) * flow.calls;
}

// Calls visit(receiver, share of the flow's bytes) for each device that one sends to.
template <class Visit>
void each_receiver(const CommunicationModel& model, const CommunicationFlow& flow,
                   std::int64_t device, const Visit& visit) {
  if (is_pair(flow)) {
    const std::int64_t steps = std::int64_t{flow.to.value} - std::int64_t{flow.from.value};
    visit(device + steps * model.pipeline_stride, 1.0);
    return;
  }
  const std::int64_t place = place_in(flow.axes, device);
  if (flow.collective != CollectiveKind::AllToAll) {
    visit(member(flow.axes, device, (place + 1) % flow.ranks), 1.0);
    return;
  }
  const double share = 1 / static_cast<double>(flow.ranks - 1);
  for (std::int64_t other = 0; other < flow.ranks; ++other)
    if (other != place) visit(member(flow.axes, device, other), share);
}

std::int64_t devices_a_cell(const CommunicationModel& model, std::size_t most_cells) {
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(1, most_cells));
  const std::int64_t least = (model.devices + most - 1) / most;
  if (least <= 1) return 1;
  if (least >= model.per_node)
    return (least + model.per_node - 1) / model.per_node * model.per_node;
  std::int64_t part = least;
  while (model.per_node % part != 0) ++part;
  return part;
}

}  // namespace

std::string flow_name(const CommunicationFlow& flow) {
  const std::string group(to_string(flow.group));
  return flow.kind == TaskKind::Send ? group + " message"
                                     : group + " " + std::string(to_string(flow.collective));
}

BytesPerSecond algorithm_bandwidth(const CommunicationFlow& flow) {
  return algorithm_bandwidth(flow.each, flow.time);
}

BytesPerSecond bus_bandwidth(const CommunicationFlow& flow) {
  const double factor = flow.kind == TaskKind::Send ? 1 : bus_factor(flow.collective, flow.ranks);
  return {algorithm_bandwidth(flow).value * factor};
}

DeviceId rank_of(const CommunicationModel& model, std::int64_t device) {
  return DeviceId{
      static_cast<std::uint32_t>(device / model.pipeline_stride % std::max(1, model.mesh.pp))};
}

BytesPerSecond link_rate(const CommunicationModel& model, const CommunicationFlow& flow) {
  const BytesPerSecond rate = model.levels[flow.level].bandwidth;
  if (flow.level == 0 || is_pair(flow) || flow.collective == CollectiveKind::AllToAll) return rate;
  const std::int64_t device = std::int64_t{flow.from.value} * model.pipeline_stride;
  std::int64_t beside = 0;
  for (std::int64_t place = 0; place < flow.ranks; ++place)
    beside += member(flow.axes, device, place) / model.per_node == device / model.per_node;
  const double together = rate.value * static_cast<double>(std::max<std::int64_t>(1, beside));
  return {beside > 1 ? std::max(rate.value, std::min(together, model.levels[0].bandwidth.value))
                     : rate.value};
}

CommunicationModel communication_model(const Experiment& experiment, const CostModel& cost) {
  const Workload& workload = experiment.workload;
  const Program& program = experiment.program;
  const Cluster& cluster = workload.scenario.cluster;
  CommunicationModel model;
  model.mesh = workload.scenario.plan.mesh;
  model.devices = cluster.count;
  model.per_node = devices_per_node(cluster);
  model.shard = workload.shard;
  model.pipeline_stride = representative(model.mesh, 1);
  for (const Level& level : cluster.levels)
    model.levels.push_back({level.name, level.size, level.bandwidth.value});
  using Key = std::tuple<DeviceId, TaskKind, CollectiveKind, Group, DeviceId, Bytes>;
  std::map<Key, double> calls;
  const std::vector<Runs> runs = runs_of(program);
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    const Task& task = program.tasks[t];
    if (task.kind != TaskKind::Collective && task.kind != TaskKind::Send) continue;
    if (runs[t].count == 0 || task.bytes.value <= 0) continue;
    if (task.kind == TaskKind::Collective && ranks(model.mesh, task.group, model.shard) < 2)
      continue;
    calls[{runs[t].on, task.kind, task.collective, task.group, runs[t].with, task.bytes}] +=
        static_cast<double>(runs[t].count) * std::max(1, task.repeats) / program.steps;
  }
  for (const auto& [key, count] : calls) {
    CommunicationFlow flow;
    std::tie(flow.from, flow.kind, flow.collective, flow.group, flow.to, flow.each) = key;
    flow.ranks = flow.kind == TaskKind::Send ? 2 : ranks(model.mesh, flow.group, model.shard);
    flow.calls = count;
    if (!is_pair(flow)) flow.axes = group_axes(model.mesh, flow.group, model.shard);
    price(flow, workload, cost);
    model.flows.push_back(flow);
  }
  std::stable_sort(model.flows.begin(), model.flows.end(),
                   [](const CommunicationFlow& a, const CommunicationFlow& b) {
                     return a.from != b.from ? a.from < b.from : a.bytes > b.bytes;
                   });
  std::size_t next = 0;
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(program.devices); ++rank) {
    model.first.push_back(next);
    while (next < model.flows.size() && model.flows[next].from.value == rank) ++next;
  }
  model.first.push_back(next);
  return model;
}

std::vector<PairTraffic> sent_by(const CommunicationModel& model, std::int64_t device) {
  std::vector<PairTraffic> list, merged;
  const std::size_t rank = rank_of(model, device).value;
  if (rank + 1 >= model.first.size()) return merged;
  for (std::size_t i = model.first[rank]; i < model.first[rank + 1]; ++i) {
    const CommunicationFlow& flow = model.flows[i];
    each_receiver(model, flow, device, [&](std::int64_t to, double share) {
      // Messages of an all-to-all overlap in time no less than those of a ring: all last as long
      // as the call.
      if (to != device)
        list.push_back({to, flow.bytes * share, flow.messages * share, flow.seconds});
    });
  }
  std::sort(list.begin(), list.end(),
            [](const PairTraffic& a, const PairTraffic& b) { return a.to < b.to; });
  for (const PairTraffic& pair : list) {
    if (merged.empty() || merged.back().to != pair.to) {
      merged.push_back(pair);
      continue;
    }
    merged.back().bytes += pair.bytes;
    merged.back().messages += pair.messages;
    merged.back().seconds += pair.seconds;
  }
  return merged;
}

std::vector<const CommunicationFlow*> flows_between(const CommunicationModel& model,
                                                    std::int64_t from, std::int64_t to) {
  std::vector<const CommunicationFlow*> found;
  const std::size_t rank = rank_of(model, from).value;
  if (rank + 1 >= model.first.size()) return found;
  for (std::size_t i = model.first[rank]; i < model.first[rank + 1]; ++i) {
    bool reaches = false;
    each_receiver(model, model.flows[i], from,
                  [&](std::int64_t other, double) { reaches = reaches || other == to; });
    if (reaches && from != to) found.push_back(&model.flows[i]);
  }
  return found;
}

const CommunicationLevel& level_between(const CommunicationModel& model, std::int64_t a,
                                        std::int64_t b) {
  for (const CommunicationLevel& level : model.levels)
    if (a / level.size == b / level.size) return level;
  return model.levels.back();
}

std::string_view to_string(TrafficQuantity quantity) {
  switch (quantity) {
    case TrafficQuantity::Sent:
      return "bytes";
    case TrafficQuantity::Messages:
      return "messages";
    case TrafficQuantity::Time:
      return "time";
    case TrafficQuantity::Bandwidth:
      return "bandwidth";
  }
  return "";
}

double quantity_of(const PairTraffic& pair, TrafficQuantity quantity) {
  switch (quantity) {
    case TrafficQuantity::Sent:
      return pair.bytes;
    case TrafficQuantity::Messages:
      return pair.messages;
    case TrafficQuantity::Time:
      return pair.seconds;
    case TrafficQuantity::Bandwidth:
      return pair.seconds > 0 ? pair.bytes / pair.seconds : 0;
  }
  return 0;
}

std::string quantity_text(double value, TrafficQuantity quantity) {
  switch (quantity) {
    case TrafficQuantity::Sent:
      return format_bytes({static_cast<std::int64_t>(std::min(value, 9e18))});
    case TrafficQuantity::Messages:
      return format_count(static_cast<std::int64_t>(std::min(value + 0.5, 9e18)));
    case TrafficQuantity::Time:
      return format_duration(seconds(value));
    case TrafficQuantity::Bandwidth:
      return format_bandwidth({value});
  }
  return "";
}

TrafficGrid traffic_grid(const CommunicationModel& model, TrafficQuantity quantity,
                         std::size_t most_cells) {
  TrafficGrid grid;
  grid.quantity = quantity;
  grid.per_cell = devices_a_cell(model, most_cells);
  grid.cells = static_cast<std::size_t>((model.devices + grid.per_cell - 1) / grid.per_cell);
  grid.cell.resize(grid.cells * grid.cells);
  grid.sent.resize(grid.cells);
  grid.received.resize(grid.cells);
  const TrafficQuantity added =
      quantity == TrafficQuantity::Bandwidth ? TrafficQuantity::Sent : quantity;
  for (std::int64_t device = 0; device < model.devices; ++device) {
    const auto row = static_cast<std::size_t>(device / grid.per_cell);
    for (const PairTraffic& pair : sent_by(model, device)) {
      const auto column = static_cast<std::size_t>(pair.to / grid.per_cell);
      TrafficCell& cell = grid.cell[row * grid.cells + column];
      cell.sum.bytes += pair.bytes;
      cell.sum.messages += pair.messages;
      cell.sum.seconds += pair.seconds;
      ++cell.pairs;
      grid.bytes += pair.bytes;
      if (device / model.per_node == pair.to / model.per_node) grid.inside += pair.bytes;
      if (const double value = quantity_of(pair, quantity); value > cell.most) {
        cell.most = value;
        cell.from = device;
        cell.to = pair.to;
      }
      grid.sent[row] += quantity_of(pair, added);
      grid.received[column] += quantity_of(pair, added);
    }
  }
  return grid;
}

}  // namespace trainyard
