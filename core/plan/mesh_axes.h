// Where the members of a group sit: along which directions of the mesh, how many, how far apart.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/parallelism.h"

namespace trainyard {

/// Members along one direction of the mesh: `count` of them, `stride` devices apart.
struct MeshAxis {
  std::int64_t count = 1, stride = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};
using MeshAxes = std::vector<MeshAxis>;  // fastest first

/// The directions in which groups of that kind lie; none for groups of one. Of Pipeline and Copies
/// those of all stages. shard: size of the hybrid shard group, for Shard and Replica only. The mesh
/// must be complete; throws Error{InvalidInput} for an order that check_rank_order() refuses.
MeshAxes group_axes(const Mesh&, Group, std::int64_t shard = 1);

/// Which member of its group a device is, [0, members): the order in which a ring goes round.
std::int64_t place_in(const MeshAxes&, std::int64_t device);
/// The device at a place of the group that `device` is in.
std::int64_t member(const MeshAxes&, std::int64_t device, std::int64_t place);

}  // namespace trainyard
