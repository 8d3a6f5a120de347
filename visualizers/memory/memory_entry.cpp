#include "visualizers/memory/memory_view.h"

#include <algorithm>

#include "visualizers/view_data.h"

namespace trainyard {

Hover describe_memory_at(const ViewData& data, Size size, Item item, Point point,
                         const ViewState& state) {
  return describe_memory(
      data.get<MemoryModel>(), item,
      time_at(viewport_of(whole(size), state, data.get<MemoryModel>().end), double{point.x}),
      state);
}

constinit const View kMemoryView{
    .name = "memory",
    .title = "Memory",
    .summary = "the memory of each pipeline rank over time, under its capacity",
    .size = {1082, 380},
    .tab = "",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          const MemoryModel& memory = data.get<MemoryModel>();
          const Rect ruler{0, 0, size.width, kRuler};
          const Viewport shown = viewport_of(ruler, state, memory.end);
          draw_ruler(drawing, ruler, shown, state, memory.end);
          draw_memory(drawing, {0, kRuler, size.width, std::max(0.f, size.height - kRuler)}, memory,
                      state);
          draw_time_tags(drawing, ruler, shown, state, memory.end);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState& state) {
          return describe_memory_at(data, drawing.size, hit(drawing, point), point, state);
        },
    .table = [](const ViewData& data, const ViewState&) { return memory_table(data.experiment); }};

}  // namespace trainyard
