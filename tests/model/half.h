// Mixed precision as most of the literature counts it.
#pragma once

#include "core/model/dtype.h"

namespace trainyard::testing {

inline constexpr Precision kHalf{DType::BF16, DType::BF16, DType::F32, DType::BF16, true};

}  // namespace trainyard::testing
