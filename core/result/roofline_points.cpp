#include "core/result/roofline_points.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/plan/mesh.h"
#include "core/plan/stage_kinds.h"
#include "core/result/step_calls.h"

namespace trainyard {
namespace {

// Calls that ask the same of the device are one point, whatever their names. So are all updates of
// the optimizer, whose sizes differ between layers while their intensity does not.
using PointKey = std::tuple<Pass, bool, WorkKind, DType, double, std::int64_t>;
struct Alike {
  RooflinePoint point;
  std::vector<std::string> names;
};
using Groups = std::map<PointKey, Alike>;

PointKey key_of(const BodyOp& op) {
  const Work& work = op.work;
  const bool all_alike = work.kind == WorkKind::Optimizer;
  return {op.pass,
          op.recomputed,
          work.kind,
          work.math,
          all_alike ? 0 : work.flops.value,
          all_alike ? 0 : (work.read + work.written).value};
}

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

// Returns "gate_proj, up_proj weight gradient" or "input_norm and 3 more".
std::string point_name(const Alike& group) {
  if (group.point.kind == WorkKind::Optimizer) return "optimizer";
  std::string words = group.names.front();
  if (group.names.size() == 2) words += ", " + group.names.back();
  if (group.names.size() > 2) words += " and " + std::to_string(group.names.size() - 1) + " more";
  return words + std::string(suffix(group.point.pass)) + (group.point.recomputed ? " again" : "");
}

class Collector {
 public:
  // `cluster` is as the kind of devices has it on which all of the work lies.
  Collector(const Workload& workload, const CostModel& cost, const Cluster& cluster)
      : workload_(workload), cost_(cost), cluster_(cluster) {}

  void add(const BodyOp& op, std::int64_t calls) {
    if (op.communication)
      add_traffic(op, calls);
    else
      add_point(op, calls);
  }

  void add_send(Bytes bytes, std::int64_t calls) {
    if (calls == 0 || bytes.value == 0) return;
    const std::size_t level = pipeline_level(mesh(), cluster_);
    LinkPoint& link = link_of(std::string(to_string(Group::Pipeline)), level);
    link.bytes += bytes * calls;
    link.time += cost_.transfer(bytes, cluster_, level) * calls;
  }

  void finish(Roofline& roofline) {
    Duration compute_time{};
    Flops flops{};
    for (const auto& [key, group] : groups_)
      compute_time += group.point.time, flops += group.point.flops;
    for (auto& [key, group] : groups_) {
      RooflinePoint& point = group.point;
      point.name = point_name(group);
      point.share = compute_time.count() ? to_seconds(point.time) / to_seconds(compute_time) : 0;
      if (point.flops.value > 0 && point.bytes.value > 0 && point.time.count() > 0)
        roofline.points.push_back(std::move(point));
      else if (point.time.count() > 0)
        roofline.bare.push_back(std::move(point));
    }
    for (auto& [name, link] : links_) {
      link.flops = flops;
      roofline.traffic.push_back(std::move(link));
    }
    for (auto* list : {&roofline.points, &roofline.bare})
      std::stable_sort(list->begin(), list->end(),
                       [](const auto& a, const auto& b) { return a.time > b.time; });
    std::stable_sort(roofline.traffic.begin(), roofline.traffic.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (compute_time.count()) roofline.busy = {flops.value / to_seconds(compute_time)};
  }

 private:
  const Mesh& mesh() const { return workload_.scenario.plan.mesh; }

  LinkPoint& link_of(const std::string& name, std::size_t level) {
    LinkPoint& link = links_[name];
    link.name = name;
    link.level = level;
    return link;
  }

  void add_point(const BodyOp& op, std::int64_t calls) {
    Alike& group = groups_[key_of(op)];
    if (std::find(group.names.begin(), group.names.end(), op.name) == group.names.end())
      group.names.push_back(op.name);
    RooflinePoint& point = group.point;
    if (point.calls == 0) {
      point.kind = op.work.kind;
      point.pass = op.pass;
      point.recomputed = op.recomputed;
      point.math = op.work.math;
    }
    point.flops += op.work.flops * static_cast<double>(calls);
    point.bytes += (op.work.read + op.work.written) * calls;
    point.time += cost_.compute(op.work, cluster_.device) * calls;
    point.calls += calls;
  }

  void add_traffic(const BodyOp& op, std::int64_t calls) {
    const GroupShape shape = group_shape(mesh(), op.group, cluster_, workload_.shard);
    if (shape.ranks <= 1) return;
    const CollectiveTime time = cost_.collective(op.collective, op.bytes, shape, cluster_);
    LinkPoint& link = link_of(std::string(to_string(op.group)), time.level);
    link.bytes += sent_bytes(op.collective, op.bytes, shape.ranks) * calls;
    link.time += time.time * calls;
  }

  const Workload& workload_;
  const CostModel& cost_;
  const Cluster& cluster_;
  Groups groups_;
  std::map<std::string, LinkPoint> links_;
};

void collect_stage(const Workload& workload, std::size_t stage, Collector& out) {
  visit_calls(workload, stage,
              [&out](const BodyOp& op, std::int64_t calls) { out.add(op, calls); });
  // Activations sent to the next stage come back as gradients of the same size.
  if (stage + 1 < workload.runs.size() && !workload.runs[stage].empty()) {
    const Body& last = workload.bodies[static_cast<std::size_t>(workload.runs[stage].back().body)];
    out.add_send(last.output, std::int64_t{2} * microbatches(workload.scenario.plan));
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
    const std::string& name = i == 0 ? cluster.device.scale_up_kind : level.name;
    roofs.push_back({name.empty() ? level.name : name,
                     level.bandwidth.value,
                     {level.bandwidth.value.value * share}});
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
  const Scenario& scenario = workload.scenario;
  const KindClusters clusters(scenario.cluster);
  const auto kind_of = [&](DeviceId on) {
    return kind_of_rank(scenario.cluster, scenario.plan.mesh, on);
  };
  const std::size_t kind = rank ? kind_of(*rank) : 0;
  const Device& device = clusters[kind].device;
  Roofline roofline;
  roofline.compute = compute_roofs(device);
  const BytesPerSecond bandwidth = tensor_bandwidth(device);
  roofline.memory = {
      device.memory_kind, bandwidth, {bandwidth.value * device.efficiency.memory.value}};
  roofline.links = link_roofs(clusters[kind]);
  Collector collector(workload, cost, clusters[kind]);
  for (std::size_t stage = 0; stage < workload.runs.size(); ++stage) {
    const DeviceId on = workload.table[stage].device;
    if (rank ? on == *rank : kind_of(on) == kind) collect_stage(workload, stage, collector);
  }
  collector.finish(roofline);
  for (const RooflinePoint& point : roofline.points)
    for (ComputeRoof& roof : roofline.compute)
      if ((point.kind == WorkKind::Product || point.kind == WorkKind::Attention) &&
          supports(device, point.math) && peak(device, point.math) == roof.datasheet)
        roof.used = true;
  return roofline;
}

RooflineBound bound(const Roofline& roofline, const RooflinePoint& point) {
  RooflineBound result{
      roofline.memory.name, {roofline.memory.effective.value * point.intensity()}, 1};
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
