// What is left to wait for when a collective runs beside computation that it does not depend on.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/cost/cost_model.h"
#include "core/model/pieces.h"

namespace trainyard {

/// Time that a collective of `alone` adds to computation of `beside`. In k pieces, each computed
/// while the next travels, the two take alone / k + (k - 1) max(alone, beside) / k + beside / k
/// (either way round), so that max(alone / k, alone - beside (k - 1) / k) is exposed. While both
/// run each takes from the other: `contention` of the shorter is added. Never more than `alone`.
Duration exposed(Duration alone, Duration beside, std::int32_t pieces, double contention);

/// The share of load.exposed by which its phase is longer, [0, 1]; 1 where nothing is exposed.
double exposed_share(const PhaseLoad& load, const CostModel&);
/// `share` of a time; exactly all of it for 1.
Duration share_of(Duration, double share);

}  // namespace trainyard
