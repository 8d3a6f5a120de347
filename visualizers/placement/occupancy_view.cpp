#include "visualizers/placement/occupancy_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kOccupancyWidth = 1000, kNodeLane = 34, kLeastNodeLane = 4, kNamedLane = 11;  // px
constexpr float kOccupancyLeft = 58, kOccupancyRight = 16, kOccupancyFoot = 26;

float panel_height(const OccupancyModel& model) {
  return kSectionBar + kNodeLane * static_cast<float>(model.nodes) + kOccupancyFoot;
}

void draw_panel(Drawing& drawing, const Rect& area, const OccupancyModel& model,
                const OccupancyPanel& panel, bool has_legend) {
  const float lane =
      std::clamp((area.height - kSectionBar - kOccupancyFoot) / static_cast<float>(model.nodes),
                 kLeastNodeLane, kNodeLane);
  const Rect bar{area.x, area.y, area.width, kSectionBar};
  const float words = draw_section_bar(drawing, bar, panel.title);
  if (has_legend) {
    std::vector<LegendEntry> entries;
    for (std::size_t k = 0; k < model.kinds.size(); ++k)
      entries.push_back({model.kinds[k], box_sign(occupancy_ink(static_cast<int>(k)))});
    draw_legend_before(drawing, {bar.right() - kPlotMargin, bar.y + bar.height / 2}, entries, words,
                       {.size = 10});
  }
  const Rect plot{area.x + kOccupancyLeft, bar.bottom(),
                  area.width - kOccupancyLeft - kOccupancyRight,
                  lane * static_cast<float>(model.nodes)};
  const auto longest = static_cast<double>(std::max<std::int64_t>(1, model.end.count()));
  const auto x = [&](Instant when) {
    return plot.x + plot.width * static_cast<float>(static_cast<double>(when.count()) / longest);
  };
  const auto bottom_of = [&](int node) { return plot.y + lane * static_cast<float>(node + 1); };
  const auto height_of = [&](std::int64_t bytes) {
    return (lane - std::min(4.F, lane / 4)) *
           static_cast<float>(static_cast<double>(bytes) / static_cast<double>(model.capacity));
  };
  // Where lanes are lower than their names, some have none.
  const int named = std::max(1, static_cast<int>(std::ceil(kNamedLane / lane)));
  for (int n = 0; n < model.nodes; ++n) {
    if (n % named == 0)
      write(drawing, fmt::format("node {}", n), {plot.x - 8, bottom_of(n) - lane / 2}, 10,
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
  // Jobs take hours, which are read more easily than tens of thousands of seconds.
  constexpr double kTickHour = 3.6e12;  // ns
  const bool hours = longest >= 2 * kTickHour;
  for (const double at : round_values(0, hours ? longest / kTickHour : longest, 8)) {
    const Instant when{std::llround(hours ? at * kTickHour : at)};
    draw_x_tick(drawing, plot, x(when),
                hours ? fmt::format("{:g} h", at) : format_duration(Duration{when.count()}));
  }
}

}  // namespace

Ink occupancy_ink(int kind) {
  constexpr std::array kInksOfKinds = {Ink::Forward,       Ink::Backward,  Ink::WeightGradient,
                                       Ink::Communication, Ink::Optimizer, Ink::Recompute,
                                       Ink::Swap};
  return kInksOfKinds[static_cast<std::size_t>(kind) % kInksOfKinds.size()];
}

void draw_occupancy(Drawing& drawing, const Rect& area, const OccupancyModel& model,
                    std::size_t panel) {
  if (panel < model.panels.size())
    draw_panel(drawing, area, model, model.panels[panel], true);
  else
    draw_bars(drawing, area, model.peaks);
}

Hover describe_occupancy(const OccupancyModel& model, std::size_t panel, Item item) {
  if (panel >= model.panels.size()) return describe_bars(model.peaks, item);
  if (item.kind != ItemKind::Span) return {};
  Hover hover;
  Instant from = model.end, to{};
  std::int64_t most = 0;
  bool paired = false;
  for (const OccupancyBlock& block : model.panels[panel].blocks) {
    if (static_cast<std::uint64_t>(block.job) != item.tag) continue;
    hover.title =
        fmt::format("Job {}, {}", block.job, model.kinds[static_cast<std::size_t>(block.kind)]);
    hover.where = fmt::format("node {}", block.node);
    from = std::min(from, block.from), to = std::max(to, block.to);
    most = std::max(most, block.high - block.low);
    paired = paired || block.paired;
  }
  if (hover.title.empty()) return hover;
  hover.value = format_duration(to - from);
  hover.lines = {fmt::format("starts after {}", format_duration(from)),
                 fmt::format("adds {:.1f} GB to its node", static_cast<double>(most) / 1e9)};
  if (paired) hover.lines.emplace_back("is paired with another job, whose peaks its own avoid");
  return hover;
}

std::string occupancy_words(const OccupancyModel& model, std::size_t panel) {
  if (panel >= model.panels.size()) return bars_words(model.peaks);
  const OccupancyPanel& shown = model.panels[panel];
  std::set<int> all;
  for (const OccupancyBlock& block : shown.blocks) all.insert(block.job);
  std::string words = shown.title + ".";
  for (int n = 0; n < model.nodes; ++n) {
    std::set<int> jobs;
    std::int64_t most = 0;
    for (const OccupancyBlock& block : shown.blocks)
      if (block.node == n) jobs.insert(block.job), most = std::max(most, block.high);
    words += fmt::format(" Node {}: at most {:.1f} of {:.4g} GB, with {} of {} jobs.", n,
                         static_cast<double>(most) / 1e9, static_cast<double>(model.capacity) / 1e9,
                         jobs.size(), all.size());
  }
  return words;
}

Drawing occupancy_picture(const OccupancyModel& model) {
  const Size size{kOccupancyWidth, panel_height(model) * static_cast<float>(model.panels.size()) +
                                       bars_height(model.peaks)};
  Drawing drawing(size);
  fill(drawing, whole(size), {.ink = Ink::Canvas});
  float y = 0;
  for (const OccupancyPanel& panel : model.panels) {
    draw_panel(drawing, {0, y, size.width, panel_height(model)}, model, panel,
               &panel == &model.panels.front());
    y += panel_height(model);
  }
  draw_bars(drawing, {0, y, size.width, bars_height(model.peaks)}, model.peaks);
  return drawing;
}

}  // namespace trainyard
