// This file computes how far a prediction for this machine's own cores may be off. Published runs
// say nothing about them. What counts is how much of the step's time is priced by a measurement of
// the same kernel at the same shape, by the same kernel at other shapes, by what was learned from
// all kernels, or by a formula alone.
#pragma once

#include "core/cost/priced_by.h"
#include "core/validation/bands.h"

namespace trainyard {

/// PricedTime is the seconds of one step's kernels, all stages together, by the basis of their
/// prices.
struct PricedTime {
  double measured = 0, other_shapes = 0, formula = 0;
  double learned = 0;
  double learned_off = 0;     // mean PriceBasis::off of the learned seconds
  double learned_beyond = 0;  // those of the learned seconds that are of sizes beyond measured ones
  double total() const { return measured + other_shapes + formula + learned; }
};
PricedTime priced_time(const Workload&, const CostModel&);

/// A PriceRange is the range of measured steps as multiples of a price that has only one basis.
struct PriceRange {
  double low = 1, high = 1;
};
PriceRange price_range(PricedBy);

/// Returns the band of a step in which each kind of price is off by as much as it may be, all in
/// the same direction. check is the half-width that the calibration's own check found, as a share;
/// measured prices are never taken to be more certain than that. Without any kernels the whole step
/// rests on the formula.
Band local_band(const PricedTime&, double check);

}  // namespace trainyard
