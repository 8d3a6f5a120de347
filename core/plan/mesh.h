// This file says which ranks communicate: the groups of each kind in the mesh, and where their
// members sit in the cluster.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/error.h"
#include "core/cluster/cluster.h"
#include "core/plan/parallelism.h"

namespace trainyard {

/// Returns whether each tensor rank holds whole experts rather than a part of every expert.
bool whole_experts(const Mesh&);
/// Returns the number of ranks of one stage over which its experts are spread or replicated: dp x
/// cp, each rank together with its tensor ranks, or tp x cp x dp where experts are whole.
std::int64_t expert_pool(const Mesh&);

/// A legal order has each of tp, cp, ep, dp and pp once, joined by dashes. ep does not multiply the
/// devices: its ranks are the fast part of the expert pool where ep comes before dp, else the slow
/// part.
Diagnostics check_rank_order(std::string_view order);

/// Returns the number of ranks of the group; 2 for Pipeline. shard is the size of the hybrid shard
/// group and is used for Shard and Replica only.
std::int64_t ranks(const Mesh&, Group, std::int64_t shard = 1);
/// Returns how the members of a group sit, following the mesh's order. The mesh must be complete
/// (dp set) and legal on the cluster. A group that is spread unevenly over nodes is treated as
/// spread over more nodes than it touches. Throws Error{InvalidInput} for an order that
/// check_rank_order() refuses.
GroupShape group_shape(const Mesh&, Group, const Cluster&, std::int64_t shard = 1);
/// Returns the cluster level that messages between stages cross, the highest over all stage
/// boundaries.
std::size_t pipeline_level(const Mesh&, const Cluster&);
/// Returns the first device (global rank) of a pipeline rank, which represents it.
std::int64_t representative(const Mesh&, int pipeline_rank);

}  // namespace trainyard
