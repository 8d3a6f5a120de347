// Changes linked degrees of a mesh: since the degrees multiply to the number of devices, changing
// one changes another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// Settings ("tp=4", "dp=2") that set the degree `key` (tp, cp, pp or dp) to the value and keep tp
/// x cp x pp x dp at `devices`. Data parallelism balances a change of the others; a change of dp
/// itself is balanced by pp, then tp, then cp. The plan must be complete. Throws
/// Error{InvalidInput} at "--set KEY" if no degree can balance it, or for another key.
std::vector<std::string> linked_degrees(const Plan&, std::int64_t devices, std::string_view key,
                                        std::int64_t value);

}  // namespace trainyard
