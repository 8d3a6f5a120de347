// Converts between 4-byte floats and the 16-bit formats, rounding to nearest even. NaN stays NaN;
// values beyond the range of F16 become infinite.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/dtype.h"

namespace trainyard {

/// `type` is BF16, F16 or F32 (a copy).
void to_floats(const void* from, DType type, float* to, std::int64_t count);
void from_floats(const float* from, void* to, DType type, std::int64_t count);
/// Returns the numbers as `type` has them.
std::vector<float> rounded(std::span<const float>, DType type);

}  // namespace trainyard
