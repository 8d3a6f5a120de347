// Waves that share a device, if all of them were where the first one is: what the offset between
// them spares, as a ghost over what the device holds.
#pragma once

#include <optional>

#include "visualizers/time/memory_lines.h"
#include "visualizers/time/memory_stack.h"
#include "visualizers/viewmodel/step_curve.h"

namespace trainyard {

/// What the device of a stack by wave would hold: the most that stays, and on it the first wave as
/// often as there are waves. Nothing with one wave, or where waves go through several stages and
/// cannot start at once.
std::optional<StepCurve> aligned_curve(const Experiment&, const MemoryStack&);

/// The same with its peak, which is simulated: waves that start together slow each other down.
struct AlignedWaves {
  StepCurve held;
  Bytes peak{};
};
/// On the only device of such a plan. Nothing without a peak, and where there is no curve.
std::optional<AlignedWaves> aligned_waves(const Experiment&, std::optional<Bytes> peak);

void draw_aligned(Drawing&, const Rect& plot, const Viewport&, const ByteScale&, const StepCurve&,
                  int columns);
/// The line across at that peak.
Limit aligned_limit(Bytes peak);

}  // namespace trainyard
