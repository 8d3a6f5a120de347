// Sums over the arenas of several devices are always taken in rank order, so that the result of a
// run does not depend on which device arrives first.
#pragma once

#include <cstdint>
#include <span>

#include "core/model/dtype.h"

namespace trainyard {

/// Computes out[i] = parts[0][i] + parts[1][i] + ... in 4-byte floats and rounds the result to the
/// format. Every output receives the sum; any of them may be one of the parts.
void sum_into(std::span<const void* const> parts, std::span<void* const> outs, DType,
              std::int64_t elements);
/// Computes accumulator[i] += parts[0][i] + parts[1][i] + ...
void add_sum_to(void* accumulator, std::span<const void* const> parts, DType,
                std::int64_t elements);

}  // namespace trainyard
