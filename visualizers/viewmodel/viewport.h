// A Viewport is the part of the time line that a plot shows: [from, to) is drawn across the width
// of `plot`. All functions are pure; a view keeps a Viewport as state and replaces it.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

struct Viewport {
  Rect plot;             // logical px; time runs along x from plot.x to plot.right()
  Instant from{}, to{};  // half-open, to > from
  float scroll = 0;      // px by which rows are scrolled up, >= 0
};

/// How far zooming and panning may go.
struct TimeLimits {
  Instant first{}, last{};  // of the data
  Duration shortest{100};   // a viewport is never narrower than this (and never less than 1 ns)
  double slack = 0.05;      // part of the viewport that may show what lies beyond the data
};

/// Nanoseconds a pixel; positive also for an empty plot, which counts as 1 px wide.
double ns_per_px(const Viewport&);
/// A double, so pixels far outside the plot keep their place.
double x_of(const Viewport&, Instant);
/// The instant under x, rounded to the nearest nanosecond; saturates at the ends of Instant. NaN
/// gives `from`.
Instant time_at(const Viewport&, double x);

/// Zooms by `factor` (2: see half as much) with the instant under x staying where it is. A factor
/// that is not finite and positive changes nothing.
Viewport zoom(const Viewport&, double factor, double x, const TimeLimits&);
/// Moves the picture by dx pixels to the right, that is, towards earlier times.
Viewport pan(const Viewport&, double dx, const TimeLimits&);
/// Shows exactly [from, to), widened about its middle where it is shorter than the limit.
Viewport fit(const Viewport&, Instant from, Instant to, const TimeLimits&);
/// The nearest viewport within the limits: not shorter than allowed, not wider than the data and
/// its slack, not beyond it.
Viewport clamp(const Viewport&, const TimeLimits&);

}  // namespace trainyard
