#include "visualizers/timeline/timeline_view.h"

#include "visualizers/view_data.h"

namespace trainyard {

constinit const View kTimelineView{
    .name = "timeline",
    .title = "Timeline",
    .summary = "the work of each pipeline rank over time",
    .size = {1082, 340},
    .tab = "",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_timeline(drawing, whole(size), data.get<TimelineModel>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState& state) {
          return describe_timeline(data.get<TimelineModel>(), whole(drawing.size), state,
                                   hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState& state) { return timeline_table(data.experiment, state); }};

}  // namespace trainyard
