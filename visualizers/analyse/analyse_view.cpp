#include "visualizers/analyse/analyse_view.h"

#include <algorithm>
#include <cmath>

#include "visualizers/memory/memory_view.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/view_data.h"

namespace trainyard {

AnalyseLayout analyse_layout(const ViewData& data, Size size) {
  // Lanes keep their height while half of the large wave stays in sight; a little room below them
  // sets them apart. Of what both leave over, the lanes get a third.
  const float least = kSectionBar + kWaveExpanded;
  const TimelineModel& lanes = data.get<TimelineModel>();
  const float natural = timeline_height(lanes) + 2;
  const float over = size.height - natural - memory_height(data.get<MemoryModel>());
  const float wanted = std::min(natural + std::max(0.f, std::floor(over / 3)),
                                timeline_height(lanes, kTallestPitch) + 2);
  const float timeline = std::clamp(wanted, std::min(wanted, size.height * 0.4f),
                                    std::max(size.height * 0.4f, size.height - least));
  return {{0, 0, size.width, timeline},
          {0, timeline, size.width, std::max(0.f, size.height - timeline)}};
}

constinit const View kAnalyseView{
    .name = "analyse",
    .title = "Analyse",
    .summary = "timeline and memory waves on one time axis",
    .size = {1082, 680},
    .tab = "Timeline",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          const AnalyseLayout layout = analyse_layout(data, size);
          draw_timeline(drawing, layout.timeline, data.get<TimelineModel>(), state);
          draw_memory(drawing, layout.memory, data.get<MemoryModel>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState& state) {
          const Item item = hit(drawing, point);
          const AnalyseLayout layout = analyse_layout(data, drawing.size);
          return contains(layout.timeline, point)
                     ? describe_timeline(data.get<TimelineModel>(), layout.timeline, state, item)
                     : describe_memory_at(data, drawing.size, item, point, state);
        },
    .table = [](const ViewData& data,
                const ViewState& state) { return timeline_table(data.experiment, state); }};

}  // namespace trainyard
