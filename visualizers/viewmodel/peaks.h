// The peaks of a curve that a person would count: highs with a real descent on both sides.
#pragma once

#include <vector>

#include "visualizers/viewmodel/step_curve.h"

namespace trainyard {

/// Samples from which the curve falls by at least `rise` (> 0) on either side before it is as high
/// again; an end of the curve counts as a fall. In order of time; of equals that nothing parts the
/// first. The curve's peak is always among them. O(n).
std::vector<std::size_t> peaks_above(const StepCurve&, std::int64_t rise);

/// The rise that tells the peaks of this curve apart: a tenth of what lies between its lowest and
/// its highest, at least 1.
std::int64_t clear_rise(const StepCurve&);

}  // namespace trainyard
