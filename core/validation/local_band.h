// How far a prediction for this machine's own cores may be off. Published runs say nothing of them;
// what does is how much of the step's time is priced by a measurement of that very kernel at that
// very shape, by the same kernel at other shapes, or by a formula alone.
#pragma once

#include "core/cost/priced_by.h"
#include "core/validation/bands.h"

namespace trainyard {

/// Seconds of one step's kernels, all stages together, by what their prices stand on.
struct PricedTime {
  double measured = 0, other_shapes = 0, formula = 0;
  double total() const { return measured + other_shapes + formula; }
};
PricedTime priced_time(const Workload&, const CostModel&);

/// What steps took, as multiples of a price that stands on one thing alone.
struct PriceRange {
  double low = 1, high = 1;
};
PriceRange price_range(PricedBy);

/// The step as if each kind of price were off by as much as it may be, all of them the same way.
/// check: half-width that the calibration's own check found, as a share; what was measured is never
/// taken to be surer than that. Without any kernels the whole step stands on the formula.
Band local_band(const PricedTime&, double check);

}  // namespace trainyard
