// This file says how a context-parallel choice divides attention among the cp ranks.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// Returns how many heads one tensor rank has, for the queries and for the keys of every attention
/// of the model.
std::vector<std::int64_t> heads_of_attention(const Model&, int tp);
/// Returns the most ranks that divide cp and all these heads.
int most_by_heads(const Model&, const Mesh&);
/// Returns the number of neighbouring cp ranks that exchange heads for tokens, given the complete
/// params of context-parallel: 1 for a ring, cp for Ulysses. For a hybrid that does not state it,
/// it is most_by_heads(). A number that does not divide cp, which the method refuses, counts as 1.
int ulysses_degree(const Model&, const Mesh&, const Params&);

}  // namespace trainyard
