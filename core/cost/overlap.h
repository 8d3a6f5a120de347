// What is left to wait for when a collective runs beside computation that it does not depend on.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/model/pieces.h"

namespace trainyard {

/// Time that a collective of `alone` adds to computation of `beside`. In k pieces, each computed
/// while the next travels, the two take alone / k + (k - 1) max(alone, beside) / k + beside / k
/// (either way round), so that max(alone / k, alone - beside (k - 1) / k) is exposed. While both
/// run each takes from the other: `contention` of the shorter is added. Never more than `alone`.
Duration exposed(Duration alone, Duration beside, std::int32_t pieces, double contention);

}  // namespace trainyard
