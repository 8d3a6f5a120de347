// Sums over the arenas of several devices, always in the order of ranks, so that what a run
// computes does not depend on who arrives first.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/dtype.h"

namespace trainyard {

/// out[i] = parts[0][i] + parts[1][i] + ... in 4-byte floats, rounded to the format in the end.
/// Every `outs` gets the sum; any of them may be one of the parts.
void sum_into(std::span<const void* const> parts, std::span<void* const> outs, DType,
              std::int64_t elements);
/// accumulator[i] += parts[0][i] + parts[1][i] + ...
void add_sum_to(void* accumulator, std::span<const void* const> parts, DType,
                std::int64_t elements);

}  // namespace trainyard
