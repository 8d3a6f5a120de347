// This file computes the exposed time of a collective that runs beside computation on which it does
// not depend.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/cost/cost_model.h"
#include "core/model/zoo/pieces.h"

namespace trainyard {

/// Returns the time that a collective of duration `alone` adds to computation of duration `beside`.
/// In k pieces, each computed while the next is sent, the two take alone / k + (k - 1) max(alone,
/// beside) / k + beside / k (in either order), so max(alone / k, alone - beside (k - 1) / k) is
/// exposed. While both run they slow each other down, which adds `contention` times the shorter.
/// The result is never more than `alone`.
Duration exposed(Duration alone, Duration beside, std::int32_t pieces, double contention);

/// Returns the share of load.exposed by which its phase is longer, in [0, 1]; 1 where nothing is
/// exposed.
double exposed_share(const PhaseLoad& load, const CostModel&);
/// Returns `share` of a time; exactly all of it for 1.
Duration share_of(Duration, double share);

}  // namespace trainyard
