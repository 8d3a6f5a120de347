// The ticks of a time axis: round instants, evenly spaced, all labelled in one unit.
#pragma once

#include <string>
#include <vector>

#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

struct Tick {
  Instant at{};
  bool major = true;
  std::string label{};  // "1.5"; with the unit on the first and the last: "0.0 s"; empty on minor
                        // ticks
};

struct TimeAxis {
  Duration step{};            // between major ticks: 1, 2 or 5 times a power of ten nanoseconds
  Duration minor{};           // between minor ones; divides step
  std::vector<Tick> ticks{};  // within the viewport, ascending; multiples of minor
};

/// Major ticks stand at least `spacing` px apart and at most 2.5 times that, where a nanosecond is
/// not wider already.
TimeAxis time_axis(const Viewport&, float spacing = 80);

}  // namespace trainyard
