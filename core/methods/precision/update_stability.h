// The largest rate at which updates by a rule stay bounded on a quadratic, with gradients of old
// weights. The linear map of one update is read off the rule itself, by applying it to each unit
// state; the spectral radius of the map decides.
#pragma once

#include "core/methods/precision/update_rule.h"

namespace trainyard {

/// A quadratic has the gradient (curvature + discrepancy) * what the forward read - discrepancy *
/// what the backward reads. Curvature is positive.
struct Quadratic {
  double curvature = 1, discrepancy = 0;
};

/// Returns the largest stable rate in [0, 4 / curvature], by bisection, for gradients that are
/// `delay` >= 0 updates old. The rule's own rate is not read, and its rates have annealed. For
/// plain descent it is 2 sin(pi / (4 delay + 2)) / curvature (core/result/stable_rate.h).
double largest_stable_rate(UpdateRule, const Quadratic&, int delay);

}  // namespace trainyard
