// A recorded trace as a picture: an overview of all of it, a ruler with the steps that it marks,
// and a lane a thread, nested spans beneath those that they lie in, counters as filled curves.
#pragma once

#include <optional>

#include "visualizers/chart/time_plot.h"
#include "visualizers/recorded/recorded_model.h"
#include "visualizers/recorded/recorded_search.h"

namespace trainyard {

struct RecordedLayout {
  Rect header, overview, ruler, lanes;
  Viewport whole, shown;
};
RecordedLayout recorded_layout(const RecordedModel&, const Rect& area, const ViewState&);
/// px that all lanes take, without what lies above them.
float recorded_height(const RecordedModel&);
/// y of the top of a lane, as scrolled.
float recorded_lane_top(const RecordedModel&, const RecordedLayout&, std::size_t lane);

/// What is looked for in it, and what it is held against.
struct RecordedMarks {
  std::optional<RecordedSearch> search;  // of the same model; nothing: nothing is looked for
  Duration predicted_step{};             // zero: nothing is predicted
};

/// Items: Span and Fold, tag the (first) span by its number; Lane, tag the lane; Wave, tag the
/// counter; Legend, tag the step.
void draw_recorded(Drawing&, const Rect& area, const RecordedModel&, const ViewState&,
                   const RecordedMarks& = {});
Hover describe_recorded(const RecordedModel&, const Rect& area, const ViewState&, Item, Point at);

/// The whole as a picture for a file: as high as the lanes need, up to a limit.
Drawing recorded_picture(const RecordedModel&, std::optional<TimeRange> shown = {});

}  // namespace trainyard
