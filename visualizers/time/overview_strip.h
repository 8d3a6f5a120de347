// The strip over a plot of time: the whole run in a few rows of colour, with a frame round the part
// that is shown, ticks where a search found something and flags at marks. Dragging the frame pans.
#pragma once

#include <functional>
#include <vector>

#include "visualizers/chart/time_plot.h"

namespace trainyard {

inline constexpr float kOverview = 52;

struct OverviewStrip {
  Rect strip;      // that the rows fill
  Viewport whole;  // the run across its width
  std::size_t rows = 0;
  float row_height = 0;
};
/// Of an area with gutter and margin; of more rows than there is room for only some are shown.
OverviewStrip overview_strip(const Rect& area, std::size_t rows, Instant end);
/// Which of `of` rows the strip's row i stands for: the first of several.
std::size_t overview_row(const OverviewStrip&, std::size_t i, std::size_t of);

/// The first of the ascending instants in each device pixel of the strip, so that a million hits
/// are some hundred ticks. O(pixels log n).
std::vector<float> tick_columns(const Viewport& whole, double scale, std::size_t count,
                                const std::function<Instant(std::size_t)>& at);

/// The rows by paint_row(i, top, height), then what lies over them. ticks: x of each.
void draw_overview_strip(Drawing&, const OverviewStrip&, TimeRange shown, const ViewState&,
                         const std::vector<float>& ticks,
                         const std::function<void(std::size_t, float, float)>& paint_row);

/// The part of the run that is shown once its middle has been dragged to x, as long as before.
TimeRange dragged_to(const OverviewStrip&, TimeRange shown, float x, Instant end);

}  // namespace trainyard
