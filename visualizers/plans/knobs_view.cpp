#include "visualizers/plans/knobs_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "visualizers/chart/legend.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kKnobsHead = 34, kKnobsAxis = 36, kKnobRow = 26, kFoot = 10;
constexpr float kKnobName = 138, kNow = 112, kBest = 236, kMargin = 12;
// Step times as multiples of the plan's own; what lies beyond them stands at the ends of the axis.
constexpr double kFastest = 0.5, kSlowest = 2;

struct KnobsPlot {
  Rect rect;
  double low = 0.9, high = 1.1;  // step times, as multiples of the plan's own

  float x(double ratio) const {
    const double share = std::log(std::clamp(ratio, low, high) / low) / std::log(high / low);
    return rect.x + rect.width * static_cast<float>(share);
  }
};

KnobsPlot plot_of(const KnobsModel& model, const Rect& area) {
  KnobsPlot plot;
  plot.rect = {area.x + kMargin + kKnobName + kNow, area.y + kKnobsHead + kKnobsAxis,
               std::max(1.f, area.width - 2 * kMargin - kKnobName - kNow - kBest),
               std::max(1.f, area.height - kKnobsHead - kKnobsAxis - kFoot)};
  for (const KnobRow& row : model.rows)
    for (const KnobDot& dot : row.dots) {
      plot.low = std::min(plot.low, std::max(kFastest, (1 + dot.change) / 1.03));
      plot.high = std::max(plot.high, std::min(kSlowest, (1 + dot.change) * 1.03));
    }
  return plot;
}

Duration scaled(Duration step, double ratio) {
  return Duration{std::llround(static_cast<double>(step.count()) * ratio)};
}

std::string change_percent(double change) {
  return (change > 0 ? "+" : "") + format_percent(change);
}

void draw_step_times(Drawing& drawing, const KnobsPlot& plot, const KnobsModel& model) {
  constexpr std::array<double, 16> kTicks = {0.2, 0.3, 0.4, 0.5,  0.6, 0.7,  0.8, 0.9,
                                             1,   1.1, 1.2, 1.35, 1.5, 1.75, 2,   2.5};
  const float y = plot.rect.y;
  std::vector<Extent> taken;
  for (const double tick : kTicks) {
    if (tick < plot.low || tick > plot.high) continue;
    const float x = plot.x(tick);
    line(drawing, {x, y}, {x, plot.rect.bottom()}, {.ink = Ink::Grid});
    const std::string step = format_step_time(scaled(model.step, tick));
    const float half = text_width(step, 10) / 2 + 6;
    if (x + half > plot.rect.right() + 14) continue;  // it would cover what stands beside the plot
    if (std::any_of(taken.begin(), taken.end(),
                    [&](const Extent& e) { return x - half < e.right && x + half > e.left; }))
      continue;
    taken.push_back({x - half, x + half});
    write(drawing, step, {x, y - 22}, 10, Weight::Medium, Ink::Text2, Align::Center);
    write(drawing, tick == 1 ? "now" : change_percent(tick - 1), {x, y - 9}, 10, Weight::Medium,
          Ink::Text3, Align::Center);
  }
}

void draw_knob_dot(Drawing& drawing, Point at, const KnobDot& dot, Item item) {
  constexpr float kRadius = 4.5f;
  const Ink ink = dot.fits ? Ink::Forward : Ink::Error;
  const Style style{.ink = ink, .stroke = 1.6f, .item = item};
  if (dot.maths.empty())
    return dot.fits ? disc(drawing, at, kRadius, style) : ring(drawing, at, kRadius, style);
  const Rect square{at.x - 4, at.y - 4, 8, 8};
  dot.fits ? fill(drawing, square, style) : outline(drawing, square, style);
}

// Draws each dot where its step time lies, and its value beside it where there is room.
void draw_knob_dots(Drawing& drawing, const KnobsPlot& plot, const KnobRow& row, std::size_t index,
                    float y, const ViewState& state) {
  std::vector<std::size_t> order(row.dots.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return row.dots[a].change < row.dots[b].change;
  });
  const auto place = [&](std::size_t i) { return plot.x(1 + row.dots[i].change); };
  // Values stand on the side that is away from the line of the present plan.
  float free = plot.rect.x - 60;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const KnobDot& dot = row.dots[order[n]];
    const float x = place(order[n]), width = text_width(dot.value, 9.5f);
    const float before = n > 0 ? std::max(free, place(order[n - 1]) + 7) : free;
    const float after = n + 1 < order.size() ? place(order[n + 1]) - 7 : plot.rect.right();
    const bool left = dot.change < 0 && x - 8 - width >= before;
    if (!left && (x + 8 + width > after || x + 8 < free)) continue;
    write(drawing, dot.value, {left ? x - 8 : x + 8, y}, 9.5f, Weight::Medium,
          dot.fits ? Ink::Text2 : Ink::Text3, left ? Align::Right : Align::Left);
    free = left ? x : x + 8 + width;
  }
  for (std::size_t n = order.size(); n-- > 0;) {
    const Point at{place(order[n]), y};
    const Item item{ItemKind::Dot, index * kKnobDots + order[n]};
    draw_knob_dot(drawing, at, row.dots[order[n]], item);
    if (state.selected == item) ring(drawing, at, 8, {.ink = Ink::Select, .stroke = 2});
  }
}

const KnobDot* best_of(const KnobRow& row) {
  const KnobDot* best = nullptr;
  for (const KnobDot& dot : row.dots)
    if (dot.fits && (best == nullptr || dot.change < best->change)) best = &dot;
  return best;
}

void draw_knob_row(Drawing& drawing, const Rect& bar, const KnobsPlot& plot, const KnobRow& row,
                   std::size_t index, const ViewState& state) {
  const Item item{ItemKind::Legend, index};
  const float y = bar.y + bar.height / 2;
  if (state.selected == item) fill(drawing, bar, {.ink = Ink::AccentBackground});
  fill(drawing, bar, {.ink = Ink::Canvas, .alpha = 0, .item = item});
  line(drawing, {bar.x, bar.bottom()}, {bar.right(), bar.bottom()}, {.ink = Ink::Grid});
  write_within(drawing, row.knob, {bar.x + kMargin, y}, kKnobName - 8, 11, Weight::SemiBold,
               Ink::Text);
  write_within(drawing, row.now.empty() ? "not said" : row.now, {bar.x + kMargin + kKnobName, y},
               kNow - 12, 10.5f, Weight::Medium, row.now.empty() ? Ink::Text3 : Ink::Text2);
  draw_knob_dots(drawing, plot, row, index, y, state);
  const KnobDot* best = best_of(row);
  const float left = plot.rect.right() + 14, room = bar.right() - kMargin - left;
  if (best == nullptr) {
    write(drawing, row.dots.empty() ? "no other value is legal" : "no other value fits", {left, y},
          10.5f, Weight::Medium, Ink::Text3);
    return;
  }
  const std::string gain = change_percent(best->change);
  const bool gains = best->change < -0.0005;  // less would be written as 0 %
  write(drawing, gain, {left + 56, y}, 10.5f, Weight::SemiBold, gains ? Ink::Ok : Ink::Text2,
        Align::Right);
  const std::string words = best->value + (best->beside.empty() ? "" : ", " + best->beside);
  write_within(drawing, words, {left + 66, y}, room - 66, 10.5f, Weight::Medium, Ink::Text2);
}

LegendEntry dot_entry(const char* words, const KnobDot& dot) {
  return {words, [=](Drawing& d, Point at) { draw_knob_dot(d, at, dot, {}); }};
}

void draw_dots_legend(Drawing& drawing, const Rect& area) {
  KnobDot over, other;
  over.fits = false;
  other.maths = "another";
  draw_legend_before(drawing, {area.right() - kMargin, area.y + kKnobsHead / 2},
                     {dot_entry("fits", {}), dot_entry("does not fit", over),
                      dot_entry("changes convergence", other)},
                     area.x, {10, Ink::Text3});
}

}  // namespace

Size knobs_size(const KnobsModel& model) {
  return {1280, kKnobsHead + kKnobsAxis + kFoot + kKnobRow * static_cast<float>(model.rows.size())};
}

Drawing knobs_picture(const KnobsModel& model) {
  const Size size = knobs_size(model);
  Drawing drawing(size);
  draw_knobs(drawing, {0, 0, size.width, size.height}, model, {});
  return drawing;
}

void draw_knobs(Drawing& drawing, const Rect& area, const KnobsModel& model,
                const ViewState& state) {
  const ClipScope clip(drawing, area);
  const std::string head = model.title + ": " + format_step_time(model.step) + " per step, " +
                           format_bytes(model.reserved) + " of " + format_bytes(model.capacity);
  write_within(drawing, head, {area.x + kMargin, area.y + kKnobsHead / 2}, area.width - 420, 11.5f,
               Weight::SemiBold, Ink::Text);
  draw_dots_legend(drawing, area);
  if (model.rows.empty()) return;
  const KnobsPlot plot = plot_of(model, area);
  draw_step_times(drawing, plot, model);
  write(drawing, "time per token", {plot.rect.right() + 14, plot.rect.y - 22}, 10, Weight::Medium,
        Ink::Text3);
  write(drawing, "best feasible", {plot.rect.right() + 14, plot.rect.y - 9}, 10, Weight::Medium,
        Ink::Text3);
  const Rect rows{area.x, plot.rect.y, area.width, plot.rect.height};
  const ClipScope below(drawing, rows);
  line(drawing, {plot.x(1), rows.y}, {plot.x(1), rows.bottom()}, {.ink = Ink::Accent});
  for (std::size_t i = 0; i < model.rows.size(); ++i) {
    const Rect bar{area.x, rows.y + kKnobRow * static_cast<float>(i) - state.scroll, area.width,
                   kKnobRow};
    if (intersect(bar, rows).height > 0) draw_knob_row(drawing, bar, plot, model.rows[i], i, state);
  }
}

Hover describe_knobs(const KnobsModel& model, Item item) {
  if (item.kind == ItemKind::Legend && item.tag < model.rows.size()) {
    const KnobRow& row = model.rows[item.tag];
    Hover hover{row.knob, row.doc, row.now.empty() ? "not said" : row.now, {}};
    for (const std::string& refused : row.refused) hover.lines.push_back("not legal: " + refused);
    return hover;
  }
  if (item.kind != ItemKind::Dot || item.tag / kKnobDots >= model.rows.size()) return {};
  const KnobRow& row = model.rows[item.tag / kKnobDots];
  if (item.tag % kKnobDots >= row.dots.size()) return {};
  const KnobDot& dot = row.dots[item.tag % kKnobDots];
  Hover hover{row.knob + " = " + dot.value, row.doc, format_step_time(dot.step) + " per step", {}};
  if (!dot.beside.empty()) hover.lines.push_back("with " + dot.beside);
  hover.lines.push_back(change_percent(dot.change) + " time for the same work");
  hover.lines.push_back(
      format_bytes(dot.reserved) + ", " +
      (dot.fits ? format_bytes(dot.margin) + " spare" : format_bytes(-dot.margin) + " over"));
  if (!dot.maths.empty()) hover.lines.push_back("changes convergence: " + dot.maths);
  return hover;
}

}  // namespace trainyard
