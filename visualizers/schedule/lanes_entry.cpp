#include "visualizers/schedule/schedule_lanes.h"

#include "visualizers/view_data.h"

namespace trainyard {
namespace {

ScheduleLanes lanes_of(const ViewData& data) {
  return schedule_lanes(data.get<TimelineModel>(), data.get<MemoryModel>());
}

}  // namespace

constinit const View kLanesView{
    .name = "lanes",
    .title = "Lanes",
    .summary = "each pipeline rank's lane with its memory beneath",
    .size = {1082, 460},
    .tab = "Lanes",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_lanes_view(drawing, whole(size), lanes_of(data), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState& state) {
          return describe_lanes_view(lanes_of(data), whole(drawing.size), state,
                                     hit(drawing, point), point.x);
        },
    .table = [](const ViewData& data,
                const ViewState& state) { return timeline_table(data.experiment, state); }};

}  // namespace trainyard
