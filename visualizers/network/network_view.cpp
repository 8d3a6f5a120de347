#include "visualizers/network/network_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/heat.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kNetworkWidth = 1000, kNetworkHeight = 560;
constexpr float kNetworkPad = 12, kLinkRow = 18, kTimeTicks = 26, kWaitRow = 18;
constexpr float kBarsWidth = 170, kBarsGap = 44, kBarsMargin = 24, kFigureWidth = 96;
constexpr std::size_t kMostLinkRows = 16, kMostWaitRows = 8;

std::string all_like(const LinkUse& link) {
  return link.links == 1 ? link.example
                         : fmt::format("{} and {} like it", link.example, link.links - 1);
}

double peak_load(const LinkUse& link) {
  return link.over_time.empty() ? link.load
                                : *std::max_element(link.over_time.begin(), link.over_time.end());
}

Ink load_ink(double load) {
  if (load <= 0) return Ink::Grid;
  return heat(std::clamp(static_cast<int>(load * kHeatSteps), 0, kHeatSteps - 1));
}

// Where everything stands: names, loads over time, and bars of the whole step; waits below.
struct NetworkPlot {
  Rect area;
  std::size_t links = 0, waits = 0;
  Rect loads, bars;
  float waits_top = 0;
};

NetworkPlot network_plot(const Rect& area, const NetworkUse& use) {
  NetworkPlot plot{area, 0, 0, {}, {}, 0};
  plot.waits = std::min(kMostWaitRows, use.waits.size());
  const float below = kTimeTicks + kSectionBar +
                      kWaitRow * static_cast<float>(std::max<std::size_t>(1, plot.waits));
  const float room = std::max(0.f, area.height - kSectionBar - below - kNetworkPad);
  plot.links = std::min({kMostLinkRows, use.busiest.size(),
                         std::max<std::size_t>(1, static_cast<std::size_t>(room / kLinkRow))});
  float names = 60;
  for (std::size_t i = 0; i < plot.links; ++i)
    names = std::max(names, text_width(all_like(use.busiest[i]), 10.5f));
  names = std::min(names, area.width * 0.35f) + 2 * kNetworkPad;
  const float bars = std::min(kBarsWidth, area.width * 0.2f);
  const float top = area.y + kSectionBar + 4, height = kLinkRow * static_cast<float>(plot.links);
  const float left = area.x + names;
  plot.loads = {left, top, std::max(1.f, area.right() - kBarsMargin - bars - kBarsGap - left),
                height};
  plot.bars = {plot.loads.right() + kBarsGap, top, bars, height};
  plot.waits_top = plot.loads.bottom() + kTimeTicks;
  return plot;
}

// Returns where it begins.
float draw_heat_legend(Drawing& drawing, const Rect& bar, float least) {
  constexpr float kStep = 7, kOne = 10;
  const float y = bar.y + bar.height / 2;
  float right = bar.right() - kPlotMargin;
  right = draw_legend_before(drawing, {right, y},
                             {{"of this job", box_sign(Ink::Communication)},
                              {"of other jobs", box_sign(Ink::Swap)},
                              {"peak",
                               [](Drawing& d, Point at) {
                                 line(d, {at.x, at.y - 5}, {at.x, at.y + 5},
                                      {.ink = Ink::Text, .stroke = 2});
                               }}},
                             least, {.size = kOne});
  const float width = kStep * kHeatSteps + text_width("idle", kOne) + text_width("full", kOne) + 12;
  if (right - width < least) return right;
  write(drawing, "full", {right, y}, kOne, Weight::Medium, Ink::Text2, Align::Right);
  right -= text_width("full", kOne) + 6 + kStep * kHeatSteps;
  for (int i = 0; i < kHeatSteps; ++i)
    fill(drawing, {right + kStep * static_cast<float>(i), y - 5, kStep, 10}, {.ink = heat(i)});
  write(drawing, "idle", {right - 6, y}, kOne, Weight::Medium, Ink::Text2, Align::Right);
  return right - 6 - text_width("idle", kOne) - 16;
}

void draw_link_row(Drawing& drawing, const NetworkPlot& plot, const NetworkUse& use,
                   std::size_t row) {
  const LinkUse& link = use.busiest[row];
  const float y = plot.loads.y + kLinkRow * static_cast<float>(row), middle = y + kLinkRow / 2;
  write_within(drawing, all_like(link), {plot.loads.x - kNetworkPad, middle},
               plot.loads.x - plot.area.x - 2 * kNetworkPad, 10.5f,
               row == 0 ? Weight::SemiBold : Weight::Medium, row == 0 ? Ink::Text : Ink::Text2,
               Align::Right);
  const double step = static_cast<double>(std::max<std::int64_t>(1, use.step.count()));
  const std::size_t first = drawing.tiles.size();
  for (std::size_t i = 0; i < link.over_time.size(); ++i) {
    const double from = static_cast<double>(use.bin.count()) * static_cast<double>(i) / step;
    const double to =
        std::min(1.0, static_cast<double>(use.bin.count()) * static_cast<double>(i + 1) / step);
    const Rect cell{plot.loads.x + plot.loads.width * static_cast<float>(from), y + 1,
                    plot.loads.width * static_cast<float>(to - from), kLinkRow - 2};
    drawing.tiles.push_back({cell, static_cast<std::uint32_t>(load_cell(row, i)), ItemKind::Cell,
                             load_ink(link.over_time[i]), Tile::Kind::Fill});
  }
  strip(drawing, first, {plot.loads.x, y, plot.loads.width, kLinkRow});
  const auto across = [&](double share) {
    return plot.bars.x + plot.bars.width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  };
  const Item item{ItemKind::Lane, row};
  const float own = across(link.load - link.of_others), all = across(link.load);
  fill(drawing, {plot.bars.x, y + 3, plot.bars.width, kLinkRow - 6},
       {.ink = Ink::Grid, .item = item});
  if (own > plot.bars.x)
    box(drawing, {plot.bars.x, y + 3, own - plot.bars.x, kLinkRow - 6},
        {.ink = Ink::Communication, .item = item});
  if (all > own)
    box(drawing, {own, y + 3, all - own, kLinkRow - 6}, {.ink = Ink::Swap, .item = item});
  const float peak = across(peak_load(link));
  line(drawing, {peak, y + 2}, {peak, y + kLinkRow - 2}, {.ink = Ink::Text, .stroke = 2});
}

void draw_link_axes(Drawing& drawing, const NetworkPlot& plot, const NetworkUse& use) {
  constexpr int kTicks = 4;
  for (int i = 0; i <= kTicks; ++i) {
    const Duration at{use.step.count() / kTicks * i};
    const float x = plot.loads.x + plot.loads.width * static_cast<float>(i) / kTicks;
    draw_x_tick(drawing, plot.loads, x, instant_text(at, use.step));
  }
  for (const double share : {0.0, 0.5, 1.0})
    draw_x_tick(drawing, plot.bars, plot.bars.x + plot.bars.width * static_cast<float>(share),
                fmt::format("{:.0f} %", 100 * share));
}

void draw_wait_row(Drawing& drawing, const NetworkPlot& plot, const NetworkUse& use,
                   std::size_t row) {
  const TransferWait& wait = use.waits[row];
  const float y = plot.waits_top + kSectionBar + kWaitRow * static_cast<float>(row);
  const float middle = y + kWaitRow / 2, half = plot.area.x + plot.area.width / 2;
  write_within(drawing, fmt::format("{} for {}", wait.waiting, wait.holding),
               {plot.area.x + kNetworkPad, middle}, half - plot.area.x - 2 * kNetworkPad, 10.5f,
               Weight::Medium, Ink::Text);
  const double most =
      static_cast<double>(std::max<std::int64_t>(1, use.waits.front().time.count()));
  const float right = plot.area.right() - kPlotMargin - kFigureWidth;
  const float width = std::max(0.f, right - half) *
                      static_cast<float>(static_cast<double>(wait.time.count()) / most);
  box(drawing, {half, y + 3, width, kWaitRow - 6},
      {.ink = wait.holding == "other jobs" ? Ink::Swap : Ink::Communication,
       .item = {ItemKind::Dot, row}});
  write(drawing, format_duration(wait.time), {half + width + 6, middle}, 10.5f, Weight::Medium,
        Ink::Text2);
}

std::string waits_caption(const NetworkUse& use) {
  if (!use.incasts.empty())
    return fmt::format("Incast at the {}: {} of one step", use.incasts.front().link,
                       format_duration(use.incasts.front().time));
  return use.waits.empty() ? "No transfer waits for another one on a link."
                           : "of one step, mean over the pipeline ranks";
}

}  // namespace

void draw_network(Drawing& drawing, const Rect& area, const NetworkUse& use,
                  const ViewState& state) {
  const ClipScope clip(drawing, area);
  const NetworkPlot plot = network_plot(area, use);
  const Rect head{area.x, area.y, area.width, kSectionBar};
  const float title = draw_section_bar(drawing, head, "Links by load over the step");
  const float legend = draw_heat_legend(drawing, head, title);
  if (!use.busiest.empty())
    write_in_section_bar(drawing, head, title, legend,
                         fmt::format("busiest: {}, {}", all_like(use.busiest.front()),
                                     format_percent(use.busiest.front().load)));
  draw_link_axes(drawing, plot, use);
  for (std::size_t i = 0; i < plot.links; ++i) draw_link_row(drawing, plot, use, i);
  const Rect lower{area.x, plot.waits_top, area.width, kSectionBar};
  const float left = draw_section_bar(drawing, lower, "Who waits for whom");
  write_in_section_bar(drawing, lower, left, lower.right() - kPlotMargin, waits_caption(use));
  for (std::size_t i = 0; i < plot.waits; ++i) draw_wait_row(drawing, plot, use, i);
  const auto row = static_cast<float>(state.selected.tag);
  if (state.selected.kind == ItemKind::Lane && state.selected.tag < plot.links)
    frame_selected(drawing, {plot.bars.x, plot.bars.y + kLinkRow * row, plot.bars.width, kLinkRow},
                   0);
}

Hover describe_network(const NetworkUse& use, Item item) {
  Hover hover;
  if (item.kind == ItemKind::Dot && item.tag < use.waits.size()) {
    const TransferWait& wait = use.waits[item.tag];
    hover.title = fmt::format("{} waits for {}", wait.waiting, wait.holding);
    hover.where = wait.link;
    hover.value = format_duration(wait.time);
    hover.lines.push_back("This is of one step, the mean over the pipeline ranks.");
    return hover;
  }
  const bool cell = item.kind == ItemKind::Cell;
  const std::size_t row = cell ? item.tag >> 16 : item.tag, bin = item.tag & 0xffff;
  if ((!cell && item.kind != ItemKind::Lane) || row >= use.busiest.size()) return hover;
  const LinkUse& link = use.busiest[row];
  if (cell && bin >= link.over_time.size()) return hover;
  hover.title = all_like(link);
  hover.where = format_bandwidth(link.rate) + " by its datasheet";
  if (cell) {
    const Duration from = use.bin * static_cast<std::int64_t>(bin);
    hover.value = format_percent(link.over_time[bin]);
    hover.lines.push_back(fmt::format("From {} to {} of the step.", instant_text(from, use.step),
                                      instant_text(std::min(use.step, from + use.bin), use.step)));
    return hover;
  }
  hover.value = format_percent(link.load);
  hover.lines.push_back("Peak " + format_percent(peak_load(link)) + ".");
  if (use.tenants > 0)
    hover.lines.push_back("Other jobs are " + format_percent(link.of_others) + ".");
  return hover;
}

Drawing network_picture(const NetworkUse& use) {
  Drawing drawing({kNetworkWidth, kNetworkHeight});
  draw_network(drawing, whole(drawing.size), use);
  return drawing;
}

DataTable network_table(const NetworkUse& use) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const LinkUse& link : use.busiest) {
    items.push_back({ItemKind::Lane, rows.size()});
    rows.push_back({std::string("link"),
                    link.example,
                    {},
                    link.links,
                    link.rate.value,
                    link.load,
                    link.of_others,
                    link.over_time.empty() ? DataCell{} : DataCell{peak_load(link)},
                    {}});
  }
  for (std::size_t i = 0; i < use.waits.size(); ++i) {
    const TransferWait& wait = use.waits[i];
    items.push_back({ItemKind::Dot, i});
    rows.push_back({std::string("wait"),
                    wait.waiting,
                    wait.holding,
                    {},
                    {},
                    {},
                    {},
                    {},
                    std::int64_t{wait.time.count()}});
  }
  for (const LinkIncast& burst : use.incasts) {
    items.emplace_back();
    rows.push_back({std::string("incast"),
                    burst.name,
                    burst.link,
                    burst.links,
                    {},
                    {},
                    {},
                    {},
                    std::int64_t{burst.time.count()}});
  }
  return listed_table("Network",
                      {{"what", DataUnit::Words},
                       {"name", DataUnit::Words},
                       {"waits for", DataUnit::Words},
                       {"links", DataUnit::Count},
                       {"rate", DataUnit::Bandwidth},
                       {"load", DataUnit::Share},
                       {"of other jobs", DataUnit::Share},
                       {"peak", DataUnit::Share},
                       {"time", DataUnit::Time}},
                      std::move(rows), std::move(items));
}

std::vector<std::string> network_sentences(const NetworkUse& use) {
  std::vector<std::string> said;
  const double longer =
      use.alone.count() > 0 ? to_seconds(use.step) / to_seconds(use.alone) - 1 : 0;
  said.push_back(fmt::format(
      "The step takes {}, {} against {} if every transfer had its links to itself.",
      format_step_time(use.step), format_signed_percent(longer), format_step_time(use.alone)));
  if (use.busiest.empty()) {
    said.emplace_back("No transfer goes over a link.");
    return said;
  }
  const LinkUse& worst = use.busiest.front();
  said.push_back(fmt::format("The busiest link is the {}: {} of the step, {} in its busiest {}.",
                             all_like(worst), format_percent(worst.load),
                             format_percent(peak_load(worst)), format_duration(use.bin)));
  if (use.tenants > 0)
    said.push_back(fmt::format("Other jobs are {} of that.", format_percent(worst.of_others)));
  if (!use.incasts.empty()) {
    const LinkIncast& burst = use.incasts.front();
    said.push_back(
        fmt::format("{} loses {} of the step to incast: {} senders overflow the buffer of the {}.",
                    burst.name, format_duration(burst.time), burst.senders, burst.link));
  }
  if (use.waits.empty()) {
    said.emplace_back("No transfer waits for another one on a link.");
    return said;
  }
  const TransferWait& wait = use.waits.front();
  said.push_back(fmt::format("The longest wait is that of {} for {}: {} of the step on the {}.",
                             wait.waiting, wait.holding, format_duration(wait.time), wait.link));
  return said;
}

}  // namespace trainyard
