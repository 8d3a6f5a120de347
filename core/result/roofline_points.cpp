#include "core/result/roofline_points.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/plan/mesh.h"

namespace trainyard {
namespace {

// Memory-bound kernels of equal name in different layers are one point; so are all updates of the
// optimizer.
using Key = std::tuple<std::string, Pass, bool, WorkKind>;
using Points = std::map<Key, RooflinePoint>;

std::string_view suffix(Pass pass) {
  switch (pass) {
    case Pass::Forward:
      return "";
    case Pass::BackwardInput:
      return " input gradient";
    case Pass::BackwardWeight:
      return " weight gradient";
  }
  return "";
}

std::string point_name(const BodyOp& op) {
  if (op.work.kind == WorkKind::Optimizer) return "optimizer";
  return op.name + std::string(suffix(op.pass)) + (op.recomputed ? " again" : "");
}

class Collector {
 public:
  Collector(const Workload& workload, const CostModel& cost) : workload_(workload), cost_(cost) {}

  void add(const BodyOp& op, std::int64_t calls) {
    if (op.communication)
      add_traffic(op, calls);
    else
      add_point(op, calls);
  }

  void add_send(Bytes bytes, std::int64_t calls) {
    if (calls == 0 || bytes.value == 0) return;
    const std::size_t level = pipeline_level(mesh(), cluster());
    LinkPoint& link = link_of(std::string(to_string(Group::Pipeline)), level);
    link.bytes += bytes * calls;
    link.time += cost_.transfer(bytes, cluster(), level) * calls;
  }

  void finish(Roofline& roofline) {
    Duration compute_time{};
    Flops flops{};
    for (const auto& [key, point] : points_) compute_time += point.time, flops += point.flops;
    for (auto& [key, point] : points_) {
      point.share = compute_time.count() ? to_seconds(point.time) / to_seconds(compute_time) : 0;
      if (point.flops.value > 0 && point.bytes.value > 0 && point.time.count() > 0)
        roofline.points.push_back(std::move(point));
    }
    for (auto& [name, link] : links_) {
      link.flops = flops;
      roofline.traffic.push_back(std::move(link));
    }
    std::stable_sort(roofline.points.begin(), roofline.points.end(),
                     [](const auto& a, const auto& b) { return a.time > b.time; });
    std::stable_sort(roofline.traffic.begin(), roofline.traffic.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (compute_time.count()) roofline.busy = {flops.value / to_seconds(compute_time)};
  }

 private:
  const Mesh& mesh() const { return workload_.scenario.plan.mesh; }
  const Cluster& cluster() const { return workload_.scenario.cluster; }

  LinkPoint& link_of(const std::string& name, std::size_t level) {
    LinkPoint& link = links_[name];
    link.name = name;
    link.level = level;
    return link;
  }

  void add_point(const BodyOp& op, std::int64_t calls) {
    RooflinePoint& point = points_[{point_name(op), op.pass, op.recomputed, op.work.kind}];
    if (point.calls == 0) {
      point.name = point_name(op);
      point.kind = op.work.kind;
      point.pass = op.pass;
      point.recomputed = op.recomputed;
      point.math = op.work.math;
    }
    point.flops += op.work.flops * static_cast<double>(calls);
    point.bytes += (op.work.read + op.work.written) * calls;
    point.time += cost_.compute(op.work, cluster().device) * calls;
    point.calls += calls;
  }

  void add_traffic(const BodyOp& op, std::int64_t calls) {
    const GroupShape shape = group_shape(mesh(), op.group, cluster(), workload_.shard);
    if (shape.ranks <= 1) return;
    const CollectiveTime time = cost_.collective(op.collective, op.bytes, shape, cluster());
    LinkPoint& link = link_of(std::string(to_string(op.group)), time.level);
    link.bytes += sent_bytes(op.collective, op.bytes, shape.ranks) * calls;
    link.time += time.time * calls;
  }

  const Workload& workload_;
  const CostModel& cost_;
  Points points_;
  std::map<std::string, LinkPoint> links_;
};

void collect_stage(const Workload& workload, std::size_t stage, Collector& out) {
  const std::int64_t microbatches = trainyard::microbatches(workload.scenario.plan);
  for (const Workload::Run& run : workload.runs[stage]) {
    const Body& body = workload.bodies[static_cast<std::size_t>(run.body)];
    const std::int64_t each = run.count * microbatches;
    for (const auto* ops : {&body.forward, &body.backward})
      for (const BodyOp& op : *ops) out.add(op, each);
    const std::int64_t reductions = workload.layout.reduce_every_microbatch ? each : run.count;
    for (const BodyOp& op : body.reduce) out.add(op, reductions);
    for (const auto* ops : {&body.gather, &body.update})
      for (const BodyOp& op : *ops) out.add(op, run.count);
  }
  // What leaves for the next stage as activations comes back as gradients of the same size.
  if (stage + 1 < workload.runs.size() && !workload.runs[stage].empty()) {
    const Body& last = workload.bodies[static_cast<std::size_t>(workload.runs[stage].back().body)];
    out.add_send(last.output, 2 * microbatches);
  }
}

std::vector<ComputeRoof> compute_roofs(const Device& device) {
  std::map<double, std::string, std::greater<>> formats;  // by figure, highest first
  for (const Peak& dense : device.peaks) {
    std::string& names = formats[dense.rate.value.value];
    if (!names.empty()) names += ", ";
    names += to_string(dense.type);
  }
  std::vector<ComputeRoof> roofs;
  for (const auto& [figure, names] : formats)
    roofs.push_back({names, {figure}, {figure * device.efficiency.product.value}, false});
  return roofs;
}

std::vector<SlopeRoof> link_roofs(const Cluster& cluster) {
  std::vector<SlopeRoof> roofs;
  for (std::size_t i = 0; i < cluster.levels.size(); ++i) {
    const Level& level = cluster.levels[i];
    const Efficiency& reach = cluster.device.efficiency;
    const double share = i == 0 ? reach.scale_up.value : reach.network.value;
    roofs.push_back({level.name, level.bandwidth.value, {level.bandwidth.value.value * share}});
  }
  return roofs;
}

}  // namespace

Bytes sent_bytes(CollectiveKind kind, Bytes bytes, std::int64_t ranks) {
  if (ranks <= 1) return {};
  const Bytes others = share(bytes * (ranks - 1), ranks);
  return kind == CollectiveKind::AllReduce ? others * 2 : others;
}

Roofline roofline(const Workload& workload, const CostModel& cost, std::optional<DeviceId> rank) {
  const Device& device = workload.scenario.cluster.device;
  Roofline roofline;
  roofline.compute = compute_roofs(device);
  const BytesPerSecond bandwidth = device.memory_bandwidth.value;
  roofline.memory = {
      device.memory_kind, bandwidth, {bandwidth.value * device.efficiency.memory.value}};
  roofline.links = link_roofs(workload.scenario.cluster);
  Collector collector(workload, cost);
  for (std::size_t stage = 0; stage < workload.runs.size(); ++stage)
    if (!rank || workload.table[stage].device == *rank) collect_stage(workload, stage, collector);
  collector.finish(roofline);
  for (const RooflinePoint& point : roofline.points)
    for (ComputeRoof& roof : roofline.compute)
      if (supports(device, point.math) && peak(device, point.math) == roof.datasheet)
        roof.used = true;
  return roofline;
}

Bound bound(const Roofline& roofline, const RooflinePoint& point) {
  Bound result{roofline.memory.name, {roofline.memory.effective.value * point.intensity()}, 1};
  for (const ComputeRoof& roof : roofline.compute) {
    const std::string format(to_string(point.math));
    const bool own = (", " + roof.formats + ",").find(", " + format + ",") != std::string::npos;
    if (own && roof.effective < result.attainable)
      result = {format + " compute", roof.effective, 1};
  }
  result.gap = result.attainable.value / point.achieved().value;
  return result;
}

}  // namespace trainyard
