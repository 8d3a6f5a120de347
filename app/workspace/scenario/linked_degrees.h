// Degrees of a mesh that multiply to the devices there are: a change of one changes another with
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// Settings ("tp=4", "dp=2") that give the degree `key` (tp, cp, pp or dp) that value and keep
/// tp x cp x pp x dp at `devices`. Data parallelism takes up what a change of the others frees or
/// asks for; a change of dp itself is made up by pp, then tp, then cp. The plan must be complete.
/// Throws Error{InvalidInput} at "--set KEY" where no degree can make it up, or for another key.
std::vector<std::string> linked_degrees(const Plan&, std::int64_t devices, std::string_view key,
                                        std::int64_t value);

}  // namespace trainyard
