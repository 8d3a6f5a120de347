// This file defines the two bandwidths of a collective. Algorithm bandwidth is the bytes of the
// vector over time. Bus bandwidth is that times the bytes that a ring moves over each member's link
// per byte of the vector, so that it can be compared with a link's rate for any number of ranks.
// Reduction in a switch moves less and so shows a bus bandwidth above the link's.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/units.h"
#include "core/cluster/collective.h"

namespace trainyard {

/// Returns 2(p-1)/p for an all-reduce, (p-1)/p for gathers, scatters and exchanges, 1 for a
/// broadcast and a reduce. Bytes are those of CostModel::collective().
double bus_factor(CollectiveKind, std::int64_t ranks);
std::string_view bus_formula(CollectiveKind);  // "2(p-1)/p"

/// Returns 0 where the time is zero.
BytesPerSecond algorithm_bandwidth(Bytes, Duration);

}  // namespace trainyard
