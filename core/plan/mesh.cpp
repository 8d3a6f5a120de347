#include "core/plan/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "core/plan/mesh_axes.h"

namespace trainyard {
namespace {

std::vector<std::string_view> axis_names(std::string_view order) {
  std::vector<std::string_view> names;
  while (names.size() < 8) {
    const std::size_t dash = order.find('-');
    names.push_back(order.substr(0, dash));
    if (dash == std::string_view::npos) break;
    order.remove_prefix(dash + 1);
  }
  return names;
}

std::int64_t degree(const Mesh& mesh, std::string_view axis) {
  if (axis == "tp") return mesh.tp;
  if (axis == "cp") return mesh.cp;
  if (axis == "pp") return mesh.pp;
  if (axis == "dp") return mesh.dp.value_or(1);
  return 1;  // ep lies inside the other directions
}

/// Returns the named directions of the mesh, fastest first; directions that follow each other
/// without a gap are merged into one.
MeshAxes axes(const Mesh& mesh, std::initializer_list<std::string_view> wanted) {
  throw_if_errors(check_rank_order(mesh.order));
  MeshAxes found;
  std::int64_t stride = 1;
  for (std::string_view name : axis_names(mesh.order)) {
    const std::int64_t count = degree(mesh, name);
    if (count > 1 && std::find(wanted.begin(), wanted.end(), name) != wanted.end()) {
      if (!found.empty() && found.back().stride * found.back().count == stride)
        found.back().count *= count;
      else
        found.push_back({count, stride});
    }
    stride *= count;
  }
  return found;
}

struct Parts {
  MeshAxes fast, slow;
};

/// Divides a group into groups of `parts` members that sit next to each other (fast), and the
/// groups across those (slow). parts must divide the group.
Parts cut(const MeshAxes& whole, std::int64_t parts) {
  Parts made;
  for (const MeshAxis& axis : whole) {
    const std::int64_t taken = std::gcd(axis.count, parts);
    parts /= taken;
    if (taken > 1) made.fast.push_back({taken, axis.stride});
    if (taken < axis.count) made.slow.push_back({axis.count / taken, axis.stride * taken});
  }
  return made;
}

/// Ranks of the expert group are the fast part of the expert pool where ep comes before dp, else
/// the slow part.
MeshAxes expert_axes(const Mesh& mesh, bool replicas) {
  const MeshAxes pool =
      whole_experts(mesh) ? axes(mesh, {"tp", "cp", "dp"}) : axes(mesh, {"cp", "dp"});
  const bool fast = mesh.order.find("ep") < mesh.order.find("dp");
  const Parts parts = cut(pool, fast ? mesh.ep : ranks(mesh, Group::ExpertData));
  return fast != replicas ? parts.fast : parts.slow;
}

/// Returns how many members of the group share a node. Where groups are spread unevenly over nodes,
/// the largest even share is taken, which never claims that a group sits closer than it does.
std::int64_t members_in_node(const MeshAxes& group, std::int64_t node) {
  std::int64_t members = 1;
  for (const MeshAxis& axis : group)
    members *= std::gcd(axis.count, std::max<std::int64_t>(1, node / axis.stride));
  return members;
}

/// Returns the mean distance of consecutive members, rounded up; it is exact where they are evenly
/// spaced.
std::int64_t mean_stride(const MeshAxes& group, std::int64_t ranks) {
  std::int64_t extent = 0;
  for (const MeshAxis& axis : group) extent += (axis.count - 1) * axis.stride;
  return ranks > 1 ? (extent + ranks - 2) / (ranks - 1) : 1;
}

std::int64_t pipeline_stride(const Mesh& mesh) {
  throw_if_errors(check_rank_order(mesh.order));
  std::int64_t stride = 1;
  for (std::string_view name : axis_names(mesh.order)) {
    if (name == "pp") break;
    stride *= degree(mesh, name);
  }
  return stride;
}

}  // namespace

std::string_view to_string(Group group) {
  switch (group) {
    case Group::Tensor:
      return "tensor";
    case Group::Context:
      return "context";
    case Group::ContextHeads:
      return "context-heads";
    case Group::ContextRing:
      return "context-ring";
    case Group::TensorHeads:
      return "tensor-heads";
    case Group::Expert:
      return "expert";
    case Group::Data:
      return "data";
    case Group::ExpertData:
      return "expert-data";
    case Group::Shard:
      return "shard";
    case Group::Replica:
      return "replica";
    case Group::Pipeline:
      return "pipeline";
    case Group::Copies:
      return "copies";
  }
  return "";
}

bool whole_experts(const Mesh& mesh) { return mesh.tp > 1 && mesh.etp == 1; }

std::int64_t expert_pool(const Mesh& mesh) {
  return std::int64_t{whole_experts(mesh) ? mesh.tp : 1} * mesh.cp * mesh.dp.value_or(1);
}

Diagnostics check_rank_order(std::string_view order) {
  std::vector<std::string_view> names = axis_names(order);
  std::sort(names.begin(), names.end());
  if (names == std::vector<std::string_view>{"cp", "dp", "ep", "pp", "tp"}) return {};
  Diagnostic wrong;
  wrong.message = fmt::format(
      "expected tp, cp, ep, dp and pp once each, fastest first, as in tp-cp-ep-dp-pp, found "
      "\"{}\"",
      order.substr(0, 80));
  wrong.place = {"plan#/mesh/order"};
  wrong.fix = "rank-order=tp-cp-ep-dp-pp";
  return {wrong};
}

std::int64_t ranks(const Mesh& mesh, Group group, std::int64_t shard) {
  const std::int64_t data = std::int64_t{mesh.cp} * mesh.dp.value_or(1);
  switch (group) {
    case Group::Tensor:
    case Group::TensorHeads:
      return mesh.tp;
    case Group::Context:
      return mesh.cp;
    case Group::ContextHeads:
      return mesh.ulysses;
    case Group::ContextRing:
      return mesh.cp / mesh.ulysses;
    case Group::Expert:
      return mesh.ep;
    case Group::Data:
      return data;
    case Group::ExpertData:
      return std::max<std::int64_t>(1, expert_pool(mesh) / mesh.ep);
    case Group::Shard:
      return shard;
    case Group::Replica:
      return std::max<std::int64_t>(1, data / shard);
    case Group::Pipeline:
    case Group::Copies:
      return std::min(2, mesh.pp);
  }
  return 1;
}

MeshAxes group_axes(const Mesh& mesh, Group group, std::int64_t shard) {
  switch (group) {
    case Group::Tensor:
    case Group::TensorHeads:
      return axes(mesh, {"tp"});
    case Group::Context:
      return axes(mesh, {"cp"});
    case Group::ContextHeads:
      return cut(axes(mesh, {"cp"}), mesh.ulysses).fast;
    case Group::ContextRing:
      return cut(axes(mesh, {"cp"}), mesh.ulysses).slow;
    case Group::Expert:
      return expert_axes(mesh, false);
    case Group::Data:
      return axes(mesh, {"cp", "dp"});
    case Group::ExpertData:
      return expert_axes(mesh, true);
    case Group::Shard:
      return cut(axes(mesh, {"cp", "dp"}), shard).fast;
    case Group::Replica:
      return cut(axes(mesh, {"cp", "dp"}), shard).slow;
    case Group::Pipeline:
    case Group::Copies:
      return axes(mesh, {"pp"});
  }
  return {};
}

std::int64_t place_in(const MeshAxes& group, std::int64_t device) {
  std::int64_t place = 0, size = 1;
  for (const MeshAxis& axis : group) {
    place += device / axis.stride % axis.count * size;
    size *= axis.count;
  }
  return place;
}

std::int64_t member(const MeshAxes& group, std::int64_t device, std::int64_t place) {
  for (const MeshAxis& axis : group) {
    device += (place % axis.count - device / axis.stride % axis.count) * axis.stride;
    place /= axis.count;
  }
  return device;
}

GroupShape group_shape(const Mesh& mesh, Group group, const Cluster& cluster, std::int64_t shard) {
  assert(mesh.dp && "the mesh is complete");
  const std::int64_t node = devices_per_node(cluster);
  GroupShape shape;
  shape.ranks = ranks(mesh, group, shard);
  if (group == Group::Pipeline || group == Group::Copies) {
    shape.per_node = pipeline_level(mesh, cluster) == 0 ? shape.ranks : 1;
    shape.stride = shape.ranks > 1 ? pipeline_stride(mesh) : 1;
  } else {
    const MeshAxes members = group_axes(mesh, group, shard);
    shape.per_node = members_in_node(members, node);
    shape.stride = mean_stride(members, shape.ranks);
  }
  shape.neighbours = std::max<std::int64_t>(1, node / shape.per_node);
  if (group == Group::Tensor || is_context(group) || group == Group::Expert ||
      group == Group::Pipeline)
    shape.traffic = Traffic::Activations;
  return shape;
}

// A pipeline is as slow as its slowest boundary, so this takes the level that joins all its stages,
// whichever device the pipeline starts at.
std::size_t pipeline_level(const Mesh& mesh, const Cluster& cluster) {
  if (mesh.pp == 1) return 0;
  const std::int64_t extent = pipeline_stride(mesh) * mesh.pp;
  for (std::size_t i = 0; i + 1 < cluster.levels.size(); ++i)
    if (cluster.levels[i].size % extent == 0 || cluster.count <= cluster.levels[i].size) return i;
  return cluster.levels.size() - 1;
}

std::int64_t representative(const Mesh& mesh, int pipeline_rank) {
  return pipeline_stride(mesh) * pipeline_rank;
}

}  // namespace trainyard
