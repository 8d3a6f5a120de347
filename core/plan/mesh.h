// Which ranks communicate: each kind of group of the mesh, and how its members sit in the cluster.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/error.h"
#include "core/cluster/cluster.h"
#include "core/plan/parallelism.h"

namespace trainyard {

/// Whether tensor ranks hold each a whole expert, and not each a part of every expert.
bool whole_experts(const Mesh&);
/// Ranks of one stage that hold one copy or several of all experts: dp x cp, each rank with its
/// tensor ranks beside it, or tp x cp x dp where experts are whole.
std::int64_t expert_pool(const Mesh&);

/// Legal is each of tp, cp, ep, dp and pp once, joined by dashes. ep does not multiply the devices:
/// its ranks are the fast part of the expert pool where it comes before dp, else the slow part.
Diagnostics check_rank_order(std::string_view order);

/// Ranks of the group; a pair for Pipeline. shard: size of the hybrid shard group, for Shard and
/// Replica only.
std::int64_t ranks(const Mesh&, Group, std::int64_t shard = 1);
/// How they sit, following the mesh's order. The mesh must be complete (dp set) and legal on the
/// cluster. Groups that straddle nodes unevenly are taken as spread over more nodes than they
/// touch. Throws Error{InvalidInput} for an order that check_rank_order() refuses.
GroupShape group_shape(const Mesh&, Group, const Cluster&, std::int64_t shard = 1);
/// Cluster level that a message from one stage to the next crosses, of all boundaries the highest.
std::size_t pipeline_level(const Mesh&, const Cluster&);
/// First device (global rank) of pipeline rank d: its representative.
std::int64_t representative(const Mesh&, int pipeline_rank);

}  // namespace trainyard
