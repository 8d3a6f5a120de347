// What keys and wheel do along time, the same in every picture that has a time axis: W or + shows
// less, S or - more, A and D go to earlier and later times, Home shows all; the wheel zooms with
// Ctrl and moves with Shift.
#pragma once

#include <optional>

#include "visualizers/drawing/view_state.h"
#include "visualizers/imgui/input_queue.h"
#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

/// Changes the range that a view shows (none: all of it) by a frame of input, and returns whether
/// the frame asked for it. Zooming keeps the instant under the pointer where it is, or the middle
/// if the pointer is elsewhere. now: what is shown before the frame, at its place.
bool navigate_time(std::optional<TimeRange>& shown, const Viewport& now, const TimeLimits&,
                   const InputFrame&);

}  // namespace trainyard
