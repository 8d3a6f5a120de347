#include "visualizers/placement/occupancy_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kOccupancyWidth = 1000, kNodeLane = 34;  // px
constexpr float kOccupancyLeft = 58, kOccupancyRight = 16, kOccupancyFoot = 26;

float panel_height(const OccupancyModel& model) {
  return kSectionBar + kNodeLane * static_cast<float>(model.nodes) + kOccupancyFoot;
}

void draw_panel(Drawing& drawing, const Rect& area, const OccupancyModel& model,
                const OccupancyPanel& panel, bool first) {
  const Rect bar{area.x, area.y, area.width, kSectionBar};
  const float words = draw_section_bar(drawing, bar, panel.title);
  if (first) {
    std::vector<LegendEntry> entries;
    for (std::size_t k = 0; k < model.kinds.size(); ++k)
      entries.push_back({model.kinds[k], box_sign(occupancy_ink(static_cast<int>(k)))});
    draw_legend_before(drawing, {bar.right() - kPlotMargin, bar.y + bar.height / 2}, entries, words,
                       {.size = 10});
  }
  const Rect plot{area.x + kOccupancyLeft, bar.bottom(),
                  area.width - kOccupancyLeft - kOccupancyRight,
                  kNodeLane * static_cast<float>(model.nodes)};
  const auto longest = static_cast<double>(std::max<std::int64_t>(1, model.end.count()));
  const auto x = [&](Instant when) {
    return plot.x + plot.width * static_cast<float>(static_cast<double>(when.count()) / longest);
  };
  const auto bottom_of = [&](int node) {
    return plot.y + kNodeLane * static_cast<float>(node + 1);
  };
  const auto height_of = [&](std::int64_t bytes) {
    return (kNodeLane - 4) *
           static_cast<float>(static_cast<double>(bytes) / static_cast<double>(model.capacity));
  };
  for (int n = 0; n < model.nodes; ++n) {
    write(drawing, fmt::format("node {}", n), {plot.x - 8, bottom_of(n) - kNodeLane / 2}, 10,
          Weight::Regular, Ink::Text2, Align::Right);
    line(drawing, {plot.x, bottom_of(n)}, {plot.right(), bottom_of(n)}, {.ink = Ink::Grid});
  }
  for (const OccupancyBlock& block : panel.blocks) {
    const float floor = bottom_of(block.node);
    const Rect rect{x(block.from), floor - height_of(block.high),
                    std::max(0.5F, x(block.to) - x(block.from)),
                    height_of(block.high) - height_of(block.low)};
    const Item item{ItemKind::Span, static_cast<std::uint64_t>(block.job)};
    box(drawing, rect, {.ink = occupancy_ink(block.kind), .item = item});
    if (block.paired && rect.height > 3)
      fill(drawing, {rect.x, rect.bottom() - 2, rect.width, 1},
           {.ink = label_ink(occupancy_ink(block.kind))});
  }
  for (const double at : round_values(0, longest, 8))
    draw_x_tick(drawing, plot, x(Instant{static_cast<std::int64_t>(at)}),
                format_duration(Duration{static_cast<std::int64_t>(at)}));
}

}  // namespace

Ink occupancy_ink(int kind) {
  constexpr std::array kInksOfKinds = {Ink::Forward,       Ink::Backward,  Ink::WeightGradient,
                                       Ink::Communication, Ink::Optimizer, Ink::Recompute,
                                       Ink::Swap};
  return kInksOfKinds[static_cast<std::size_t>(kind) % kInksOfKinds.size()];
}

void draw_occupancy(Drawing& drawing, const Rect& area, const OccupancyModel& model) {
  float y = area.y;
  for (const OccupancyPanel& panel : model.panels) {
    draw_panel(drawing, {area.x, y, area.width, panel_height(model)}, model, panel,
               &panel == &model.panels.front());
    y += panel_height(model);
  }
  draw_bars(drawing, {area.x, y, area.width, bars_height(model.peaks)}, model.peaks);
}

Drawing occupancy_picture(const OccupancyModel& model) {
  const Size size{kOccupancyWidth, panel_height(model) * static_cast<float>(model.panels.size()) +
                                       bars_height(model.peaks)};
  Drawing drawing(size);
  fill(drawing, whole(size), {.ink = Ink::Canvas});
  draw_occupancy(drawing, whole(size), model);
  return drawing;
}

}  // namespace trainyard
