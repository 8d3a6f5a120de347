#include "visualizers/communication/communication_view.h"

#include <algorithm>
#include <cmath>

#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/heat.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kMapLeft = 66, kMapTop = 20, kTotals = 54, kMapGap = 6;
constexpr float kCallsWidth = 420, kCallRow = 20, kLeastMap = 140;
constexpr std::size_t kMostCells = 512;
constexpr float kLegendStep = 9;

// Gives each value an ink by where it lies between the lowest and the highest one.
class HeatScale {
 public:
  HeatScale(const TrafficGrid& grid, const CommunicationState& state)
      : logarithmic_(state.logarithmic) {
    for (const TrafficCell& cell : grid.cell) {
      const double value = shown_value(cell, state);
      if (value <= 0) continue;
      low_ = high_ == 0 ? value : std::min(low_, value);
      high_ = std::max(high_, value);
    }
    if (!logarithmic_) low_ = 0;
  }
  double low() const { return low_; }
  double high() const { return high_; }
  Ink ink(double value) const {
    double share = 1;
    if (high_ > low_)
      share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                           : (value - low_) / (high_ - low_);
    const int step = std::clamp(static_cast<int>(share * kHeatSteps), 0, kHeatSteps - 1);
    return heat(step);
  }

 private:
  bool logarithmic_;
  double low_ = 0, high_ = 0;
};

struct TrafficPlot {
  const CommunicationLayout& layout;
  const TrafficGrid& grid;
  float side() const {
    return layout.map.width / static_cast<float>(std::max<std::size_t>(1, grid.cells));
  }
  // Neighbours share their edge exactly. Rounded to device pixels, cells would differ in width.
  float x(std::size_t column) const { return layout.map.x + side() * static_cast<float>(column); }
  float y(std::size_t row) const { return layout.map.y + side() * static_cast<float>(row); }
};

void draw_cells(Drawing& drawing, const TrafficPlot& plot, const HeatScale& scale,
                const CommunicationState& state) {
  fill(drawing, plot.layout.map, {.ink = Ink::Grid});
  const std::size_t first = drawing.tiles.size();
  const float gap = plot.side() >= 6 ? 1.f : 0.f;
  for (std::size_t i = 0; i < plot.grid.cell.size(); ++i) {
    const double value = shown_value(plot.grid.cell[i], state);
    if (value <= 0) continue;
    const std::size_t row = i / plot.grid.cells, column = i % plot.grid.cells;
    const Rect rect{plot.x(column), plot.y(row), plot.x(column + 1) - plot.x(column) - gap,
                    plot.y(row + 1) - plot.y(row) - gap};
    drawing.tiles.push_back(
        {rect, static_cast<std::uint32_t>(i), ItemKind::Cell, scale.ink(value), Tile::Kind::Fill});
  }
  strip(drawing, first, plot.layout.map);
}

// Draws lines where nodes begin, and the numbers of devices or nodes along both edges.
void draw_separators(Drawing& drawing, const TrafficPlot& plot, const CommunicationModel& model) {
  const float node =
      plot.side() * static_cast<float>(model.per_node) / static_cast<float>(plot.grid.per_cell);
  const std::int64_t nodes = (model.devices + model.per_node - 1) / model.per_node;
  const Rect& map = plot.layout.map;
  if (node >= 4)
    for (std::int64_t n = 1; n < nodes; ++n) {
      const float at = node * static_cast<float>(n);
      const Style style{.ink = Ink::BorderStrong};
      line(drawing, {map.x + at, map.y}, {map.x + at, map.bottom()}, style);
      line(drawing, {map.x, map.y + at}, {map.right(), map.y + at}, style);
    }
  outline(drawing, map, {.ink = Ink::BorderStrong});
  const bool by_device = nodes == 1;
  const std::int64_t count = by_device ? model.devices : nodes;
  const float pitch = by_device ? plot.side() : node;
  const auto step =
      static_cast<std::int64_t>(std::max(1.f, std::ceil(56 / std::max(0.01f, pitch))));
  for (std::int64_t n = 0; n < count; n += step) {
    const float middle = pitch * (static_cast<float>(n) + 0.5f);
    const std::string number = (by_device ? "" : n == 0 ? "node " : "") + std::to_string(n);
    if (middle > map.height - 5) break;
    write(drawing, number, {map.x + std::max(middle, 16.f), map.y - 9}, 10, Weight::Medium,
          Ink::Text2, Align::Center);
    write(drawing, (by_device ? "" : "node ") + std::to_string(n), {map.x - 6, map.y + middle}, 10,
          Weight::Medium, Ink::Text2, Align::Right);
  }
}

// Draws bars of how much each device sends (at the right) and receives (below).
void draw_totals(Drawing& drawing, const TrafficPlot& plot, const CommunicationState& state) {
  const auto highest = [](const std::vector<double>& list) {
    return list.empty() ? 0 : *std::max_element(list.begin(), list.end());
  };
  const double most = std::max(highest(plot.grid.sent), highest(plot.grid.received));
  const CommunicationLayout& layout = plot.layout;
  const float gap = plot.side() >= 6 ? 1.f : 0.f;
  if (most > 0)
    for (std::size_t i = 0; i < plot.grid.cells; ++i) {
      const auto length = [&](double value) {
        return static_cast<float>(value / most) * (kTotals - 14);
      };
      fill(drawing, {layout.sent.x, plot.y(i), length(plot.grid.sent[i]), plot.side() - gap},
           {.ink = Ink::Communication});
      fill(drawing,
           {plot.x(i), layout.received.y, plot.side() - gap, length(plot.grid.received[i])},
           {.ink = Ink::Communication});
    }
  const TrafficQuantity quantity =
      state.quantity == TrafficQuantity::Bandwidth ? TrafficQuantity::Sent : state.quantity;
  write(drawing, "sent", {layout.sent.x, layout.map.y - 9}, 10, Weight::Medium, Ink::Text2);
  write(drawing, "received", {layout.map.x - 6, layout.received.y + 6}, 10, Weight::Medium,
        Ink::Text2, Align::Right);
  if (most > 0)
    write(drawing, "max " + quantity_text(most, quantity), {layout.sent.x, layout.received.y + 6},
          10, Weight::Regular, Ink::Text3);
}

// Marks the devices of the rank that is selected in other views.
void mark_rank(Drawing& drawing, const TrafficPlot& plot, const CommunicationModel& model,
               DeviceId rank) {
  const Rect& map = plot.layout.map;
  for (std::size_t i = 0; i < plot.grid.cells; ++i) {
    const std::int64_t device = static_cast<std::int64_t>(i) * plot.grid.per_cell;
    if (rank_of(model, device) != rank) continue;
    fill(drawing, {map.x - 4, plot.y(i), 3, plot.side()}, {.ink = Ink::Select});
    fill(drawing, {plot.x(i), map.y - 4, plot.side(), 3}, {.ink = Ink::Select});
  }
}

float draw_heat_legend(Drawing& drawing, const Rect& bar, const HeatScale& scale,
                       const CommunicationState& state) {
  if (scale.high() <= 0) return bar.right();
  const float y = bar.y + bar.height / 2;
  float x = bar.right() - kPlotMargin;
  const std::string high = quantity_text(scale.high(), state.quantity),
                    low = scale.low() > 0 ? quantity_text(scale.low(), state.quantity) : "0";
  write(drawing, high, {x, y}, 10.5f, Weight::Medium, Ink::Text2, Align::Right);
  x -= text_width(high, 10.5f) + 6 + kLegendStep * kHeatSteps;
  for (int i = 0; i < kHeatSteps; ++i)
    fill(drawing, {x + kLegendStep * static_cast<float>(i), y - 5, kLegendStep, 10},
         {.ink = heat(i)});
  x -= 6;
  write(drawing, low, {x, y}, 10.5f, Weight::Medium, Ink::Text2, Align::Right);
  x -= text_width(low, 10.5f) + 10;
  const std::string words = std::string(to_string(state.quantity)) +
                            (state.logarithmic ? ", log" : "") +
                            (state.most ? ", largest pair" : "");
  write(drawing, words, {x, y}, 10.5f, Weight::Regular, Ink::Text3, Align::Right);
  return x - text_width(words, 10.5f) - 10;
}

// Flows that differ only in their pipeline rank share one row of the table.
struct CallRow {
  std::size_t flow = 0;
  int ranks = 0;  // how many pipeline ranks have this flow
  double bytes = 0;
};

std::vector<CallRow> call_rows(const CommunicationModel& model) {
  std::vector<CallRow> rows;
  for (std::size_t i = 0; i < model.flows.size(); ++i) {
    const CommunicationFlow& flow = model.flows[i];
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const CallRow& row) {
      const CommunicationFlow& other = model.flows[row.flow];
      return other.kind == flow.kind && other.collective == flow.collective &&
             other.group == flow.group && other.each == flow.each;
    });
    if (same == rows.end()) {
      rows.push_back({i, 1, flow.bytes});
    } else {
      ++same->ranks;
      same->bytes += flow.bytes;
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CallRow& a, const CallRow& b) { return a.bytes > b.bytes; });
  return rows;
}

void draw_calls(Drawing& drawing, const Rect& area, const CommunicationModel& model,
                const CommunicationState& state) {
  if (area.width < 200) return;
  const ClipScope clip(drawing, area);
  const bool wide = area.width >= 380;
  const float right = area.right() - kPlotMargin;
  const float bus = right, link = wide ? right - 74 : right - 70, each = link - (wide ? 84 : 0),
              calls = each - 66;
  float y = area.y + 10;
  write(drawing, "call", {area.x, y}, 10, Weight::Medium, Ink::Text3);
  if (wide) {
    write(drawing, "calls", {calls, y}, 10, Weight::Medium, Ink::Text3, Align::Right);
    write(drawing, "each", {each, y}, 10, Weight::Medium, Ink::Text3, Align::Right);
  }
  write(drawing, "busbw", {link, y}, 10, Weight::Medium, Ink::Text3, Align::Right);
  write(drawing, "of link", {bus, y}, 10, Weight::Medium, Ink::Text3, Align::Right);
  y += 12;
  line(drawing, {area.x, y}, {right, y}, {.ink = Ink::Border});
  const std::vector<CallRow> rows = call_rows(model);
  const auto fitting =
      static_cast<std::size_t>(std::max(0.f, std::floor((area.bottom() - y - 22) / kCallRow)));
  for (std::size_t i = 0; i < std::min(rows.size(), fitting); ++i) {
    const CommunicationFlow& flow = model.flows[rows[i].flow];
    const Item item{ItemKind::Legend, rows[i].flow};
    const Rect row{area.x - 6, y, right - area.x + 12, kCallRow};
    fill(drawing, row,
         {.ink = state.selected == item ? Ink::AccentBackground : Ink::Canvas, .item = item});
    const float middle = y + kCallRow / 2;
    const std::string name =
        flow_name(flow) +
        (flow.kind == TaskKind::Send ? "" : " \u00D7 " + std::to_string(flow.ranks));
    const float room = (wide ? calls - 40 : link - 60) - area.x;
    write_within(drawing, name, {area.x, middle}, room, 10.5f, Weight::Medium, Ink::Text);
    if (wide) {
      write(drawing, format_count(static_cast<std::int64_t>(flow.calls + 0.5)), {calls, middle},
            10.5f, Weight::Regular, Ink::Text2, Align::Right);
      write(drawing, format_bytes(flow.each), {each, middle}, 10.5f, Weight::Regular, Ink::Text2,
            Align::Right);
    }
    const BytesPerSecond reached = bus_bandwidth(flow);
    write(drawing, format_bandwidth(reached), {link, middle}, 10.5f, Weight::Medium, Ink::Text,
          Align::Right);
    const BytesPerSecond rate = link_rate(model, flow);
    if (rate.value > 0)
      write(drawing, format_percent(reached / rate), {bus, middle}, 10.5f, Weight::Regular,
            Ink::Text2, Align::Right);
    y += kCallRow;
  }
  if (rows.size() > fitting)
    write(drawing, std::to_string(rows.size() - fitting) + " more in the table", {area.x, y + 10},
          10, Weight::Regular, Ink::Text3);
  else
    write_within(drawing,
                 "busbw = bytes / time \u00D7 2(p\u22121)/p for all-reduce, (p\u22121)/p for the "
                 "others",
                 {area.x, y + 12}, right - area.x, 10, Weight::Regular, Ink::Text3);
}

}  // namespace

double shown_value(const TrafficCell& cell, const CommunicationState& state) {
  return state.most ? cell.most : quantity_of(cell.sum, state.quantity);
}

CommunicationLayout communication_layout(const Rect& area, const CommunicationState& state) {
  CommunicationLayout layout;
  layout.header = {area.x, area.y, area.width, kSectionBar};
  const float height = area.height - kSectionBar - kMapTop - kTotals - kMapGap;
  const bool beside = area.width - kMapLeft - kTotals - 220 >= std::max(kLeastMap, height * 0.6f);
  const float room = area.width - kMapLeft - kTotals - kMapGap - (beside ? 230 : 12);
  const float side = std::max(0.f, std::floor(std::min(height, room)));
  layout.map = {area.x + kMapLeft, area.y + kSectionBar + kMapTop, side, side};
  layout.sent = {layout.map.right() + kMapGap, layout.map.y, kTotals - 14, side};
  layout.received = {layout.map.x, layout.map.bottom() + kMapGap, side, kTotals - kMapGap};
  if (beside) {
    const float left = layout.sent.right() + 24;
    layout.calls = {left, layout.header.bottom() + 2, std::min(kCallsWidth, area.right() - left),
                    std::max(0.f, area.bottom() - layout.header.bottom() - 2)};
  }
  layout.most_cells = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::max(1.0, double{side} * std::max(0.25, state.scale))), 1,
      kMostCells);
  return layout;
}

TrafficGrid grid_of(const CommunicationModel& model, const Rect& area,
                    const CommunicationState& state) {
  return traffic_grid(model, state.quantity, communication_layout(area, state).most_cells);
}

void draw_communication(Drawing& drawing, const Rect& area, const CommunicationModel& model,
                        const TrafficGrid& grid, const CommunicationState& state) {
  const ClipScope clip(drawing, area);
  const CommunicationLayout layout = communication_layout(area, state);
  const HeatScale scale(grid, state);
  const float left = draw_section_bar(drawing, layout.header, "Communication"),
              right = draw_heat_legend(drawing, layout.header, scale, state);
  write_in_section_bar(drawing, layout.header, left, right, communication_words(model, grid));
  const TrafficPlot plot{layout, grid};
  draw_cells(drawing, plot, scale, state);
  draw_separators(drawing, plot, model);
  draw_totals(drawing, plot, state);
  if (state.rank) mark_rank(drawing, plot, model, *state.rank);
  if (state.selected.kind == ItemKind::Cell && state.selected.tag < grid.cell.size()) {
    const std::size_t row = state.selected.tag / grid.cells,
                      column = state.selected.tag % grid.cells;
    frame_selected(drawing, {plot.x(column), plot.y(row), plot.side(), plot.side()}, 2);
  }
  draw_calls(drawing, layout.calls, model, state);
}

}  // namespace trainyard
