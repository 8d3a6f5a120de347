// This file says where the members of a group sit: along which directions of the mesh, how many of
// them, and how far apart.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/parallelism.h"

namespace trainyard {

/// A MeshAxis is one direction of a group: `count` members, `stride` devices apart.
struct MeshAxis {
  std::int64_t count = 1, stride = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};
using MeshAxes = std::vector<MeshAxis>;  // fastest first

/// Returns the directions in which groups of that kind lie; empty for groups of one rank. For
/// Pipeline and Copies these are the directions of all stages. shard is the size of the hybrid
/// shard group and is used for Shard and Replica only. The mesh must be complete; throws
/// Error{InvalidInput} for an order that check_rank_order() refuses.
MeshAxes group_axes(const Mesh&, Group, std::int64_t shard = 1);

/// Returns the index of a device within its group, in [0, members). A ring visits the members in
/// this order.
std::int64_t place_in(const MeshAxes&, std::int64_t device);
/// Returns the device at index `place` of the group that `device` is in.
std::int64_t member(const MeshAxes&, std::int64_t device, std::int64_t place);

}  // namespace trainyard
