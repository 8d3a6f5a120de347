// The mesh on the machine: which rank of each kind of parallelism sits on which device of which
// node, and which groups must talk across the border of a node.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/plan/mesh_axes.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// The kinds of parallelism, in the default rank order; ep lies inside dp x cp, or tp x cp x dp
/// where experts are whole.
inline constexpr std::array<const char*, 5> kMeshNames = {"tp", "cp", "ep", "dp", "pp"};
/// A device's rank in each, in the order of kMeshNames.
using MeshPlace = std::array<std::int64_t, 5>;

/// How the groups of one kind sit.
struct MeshGroup {
  Group group = Group::Tensor;
  std::int64_t ranks = 1, per_node = 1;
  bool crosses = false;  // the border of a node
  MeshAxes axes;
};

struct MeshModel {
  Mesh mesh;
  std::int64_t devices = 1, per_node = 1;
  std::array<std::int64_t, 5> degrees{};  // as kMeshNames
  std::vector<MeshGroup> groups;          // of more than one rank
};
/// The mesh must be complete.
MeshModel mesh_model(const Mesh&, const Cluster&, std::int64_t shard = 1);
MeshPlace mesh_place(const MeshModel&, std::int64_t device);
/// "tensor groups of 8 stay inside a node", "data groups of 16 span 16 nodes, 1 rank in each".
std::string group_words(const MeshGroup&);
/// The devices of a device's group, by place.
std::vector<std::int64_t> group_of(const MeshGroup&, std::int64_t device);

struct MeshState {
  std::size_t colour = 4;               // into kMeshNames: whose ranks the colours are
  std::optional<std::int64_t> pointed;  // a device: its groups are marked
};
/// pp where there is more than one stage, else the first kind with more than one rank.
MeshState mesh_state(const MeshModel&);

/// Items: Cell, tag the device; Legend, tag the index of a group.
void draw_mesh(Drawing&, const Rect& area, const MeshModel&, const MeshState&);
Hover describe_mesh(const MeshModel&, Item);
/// Devices by global rank.
DataTable mesh_table(const MeshModel&);

template <>
MeshModel make_model(const ViewData&);

extern const View kMeshView;

}  // namespace trainyard
