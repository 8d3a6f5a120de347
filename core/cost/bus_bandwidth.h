// Bandwidth words of collectives. Algorithm bandwidth: bytes of the vector over time, what a user
// waits for. Bus bandwidth: that times what a ring moves over each member's link for every byte of
// the vector, so that it compares with a link's rate whatever the number of ranks. Reduction in a
// switch moves less and shows a bus bandwidth above the link's.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/units.h"
#include "core/cluster/collective.h"

namespace trainyard {

/// 2(p-1)/p for an all-reduce, (p-1)/p for gathers, scatters and exchanges, 1 for a broadcast.
/// Bytes as CostModel::collective() counts them.
double bus_factor(CollectiveKind, std::int64_t ranks);
std::string_view bus_formula(CollectiveKind);  // "2(p-1)/p"

/// 0 for no time.
BytesPerSecond algorithm_bandwidth(Bytes, Duration);

}  // namespace trainyard
