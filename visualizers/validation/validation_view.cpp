#include "visualizers/validation/validation_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "visualizers/chart/agreement_plot.h"
#include "visualizers/chart/axes.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kValidationHead = 30, kBetweenPlots = 14, kSourceRow = 19, kTable = 430;
constexpr double kMostError = 0.5;  // the error at the right end of the axis

constexpr std::array<Ink, 7> kInks = {Ink::Forward,       Ink::Backward,  Ink::WeightGradient,
                                      Ink::Communication, Ink::Optimizer, Ink::Swap,
                                      Ink::Recompute};
enum class Shape { Disc, Square, Diamond, Triangle, Ring };
constexpr std::size_t kShapes = 5;

Ink ink_of_source(std::size_t source) { return kInks[source % kInks.size()]; }
Shape shape_of_source(std::size_t source) {
  return static_cast<Shape>(source / kInks.size() % kShapes);
}

void draw_point(Drawing& drawing, Point at, float r, std::size_t source, Style style) {
  style.ink = ink_of_source(source);
  switch (shape_of_source(source)) {
    case Shape::Disc:
      return disc(drawing, at, r, style);
    case Shape::Square:
      return fill(drawing, {at.x - r * 0.9f, at.y - r * 0.9f, r * 1.8f, r * 1.8f}, style);
    case Shape::Diamond:
      return polygon(drawing,
                     {{at.x, at.y - r * 1.3f},
                      {at.x + r * 1.3f, at.y},
                      {at.x, at.y + r * 1.3f},
                      {at.x - r * 1.3f, at.y}},
                     style);
    case Shape::Triangle:
      return polygon(drawing,
                     {{at.x, at.y - r * 1.2f},
                      {at.x + r * 1.1f, at.y + r * 0.9f},
                      {at.x - r * 1.1f, at.y + r * 0.9f}},
                     style);
    case Shape::Ring:
      style.stroke = 1.6f;
      return ring(drawing, at, r, style);
  }
}

AgreementPlot errors_plot(const ValidationModel& model, const Rect& area, bool memory) {
  AgreementPlot plot = agreement_plot_in(area);
  for (const ValidationPoint& p : model.points)
    if (p.memory == memory && p.measured > 0 && p.predicted > 0)
      plot.take(p.measured), plot.take(p.predicted);
  plot.widen();
  return plot;
}

std::string seconds_text(double value) {
  return value < 0.9 ? digits_text(value * 1e3) + " ms" : digits_text(value) + " s";
}
std::string gib_text(double value) { return digits_text(value / (1 << 30)) + " GiB"; }

float point_alpha(const ValidationPoint& p, const ViewState& state) {
  const float own = p.counts ? 1.f : 0.45f;
  if (state.selected.kind == ItemKind::Legend && state.selected.tag != p.source) return own * 0.15f;
  return own;
}

void draw_scatter(Drawing& drawing, const Rect& area, const ValidationModel& model, bool memory,
                  const ViewState& state) {
  const AgreementPlot plot = errors_plot(model, area, memory);
  if (plot.empty()) return;
  draw_agreement_axes(drawing, plot, memory ? 1 << 30 : 1, memory ? gib_text : seconds_text,
                      memory ? "Predicted memory per device" : "Predicted step time");
  const ClipScope clip(drawing, plot.rect);
  draw_agreement_lines(drawing, plot, {1.1, 1 / 1.1});
  for (const ValidationPoint& p : model.points)
    if (p.memory == memory && p.low < p.high)
      line(drawing, {plot.x(p.measured), plot.y(p.low)}, {plot.x(p.measured), plot.y(p.high)},
           {.ink = ink_of_source(p.source), .alpha = 0.3f * point_alpha(p, state)});
  for (std::size_t i = 0; i < model.points.size(); ++i) {
    const ValidationPoint& p = model.points[i];
    if (p.memory != memory) continue;
    const Point at{plot.x(p.measured), plot.y(p.predicted)};
    const Item item{ItemKind::Dot, i};
    draw_point(drawing, at, 3, p.source, {.alpha = point_alpha(p, state), .item = item});
    if (state.selected == item) ring(drawing, at, 7, {.ink = Ink::Select, .stroke = 2});
  }
  const double near_end = plot.high / std::pow(plot.high / plot.low, 0.04);
  write(drawing, "10 %", {plot.rect.right() - 5, plot.y(near_end / 1.1) + 14}, 10, Weight::Medium,
        Ink::Text3, Align::Right);
}

// Draws the error of each row as a stroke, the median as a bold one, and a bar up to the 90th
// percentile.
void draw_spread(Drawing& drawing, const Rect& row, const ValidationModel& model,
                 std::size_t source, bool memory, const ErrorSpread& spread) {
  const auto x = [&](double error) {
    return row.x + row.width * static_cast<float>(std::min(error, kMostError) / kMostError);
  };
  const float y = row.y + row.height / 2;
  const Ink ink = ink_of_source(source);
  fill(drawing, {row.x, y - 4, std::max(1.f, x(spread.p90) - row.x), 8},
       {.ink = ink, .alpha = 0.25f});
  for (const ValidationPoint& p : model.points)
    if (p.source == source && p.memory == memory && p.counts)
      line(drawing, {x(std::abs(p.error)), y - 3}, {x(std::abs(p.error)), y + 3},
           {.ink = ink, .alpha = 0.55f});
  fill(drawing, {x(spread.median) - 1, y - 6, 2, 12}, {.ink = Ink::Text});
}

// The sources that have rows of time or of memory, those with the lowest median error first.
std::vector<std::size_t> best_first(const ValidationModel& model, bool memory) {
  const auto spread = [&](std::size_t s) -> const ErrorSpread& {
    return memory ? model.sources[s].memory : model.sources[s].time;
  };
  std::vector<std::size_t> list;
  for (std::size_t s = 0; s < model.sources.size(); ++s)
    if (spread(s).rows > 0) list.push_back(s);
  std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
    return spread(a).median < spread(b).median;
  });
  return list;
}

void draw_errors(Drawing& drawing, const Rect& area, const ValidationModel& model,
                 const ViewState& state) {
  const float name = 128, figures = 96;
  const Rect bars{area.x + name, area.y + kAgreementTop, std::max(1.f, area.width - name - figures),
                  std::max(1.f, area.height - kAgreementTop - kAgreementBottom)};
  write(drawing, "Error by source, best first", {area.x, area.y + 12}, 10.5f, Weight::SemiBold,
        Ink::Text2);
  write(drawing, "median / 90th, %", {area.right() - 4, area.y + 12}, 10, Weight::Medium,
        Ink::Text3, Align::Right);
  for (int percent = 0; percent <= 50; percent += 10) {
    const float x = bars.x + bars.width * static_cast<float>(percent) / 50;
    draw_x_tick(drawing, bars, x, std::to_string(percent) + (percent == 50 ? " % +" : " %"));
  }
  const ClipScope clip(drawing, {area.x, bars.y, area.width, bars.height});
  float y = bars.y - state.scroll;
  for (const bool memory : {false, true}) {
    bool first = true;
    for (const std::size_t s : best_first(model, memory)) {
      const ErrorSpread& spread = memory ? model.sources[s].memory : model.sources[s].time;
      if (first) {
        write(drawing, memory ? "memory" : "time", {area.x, y + 8}, 10, Weight::SemiBold,
              Ink::Text3);
        y += 17;
        first = false;
      }
      const Rect row{area.x, y, area.width, kSourceRow};
      const Item item{ItemKind::Legend, s};
      if (state.selected == item) fill(drawing, row, {.ink = Ink::AccentBackground});
      draw_point(drawing, {row.x + 6, row.y + kSourceRow / 2}, 4, s, {});
      write_within(drawing, model.sources[s].name, {row.x + 16, row.y + kSourceRow / 2}, name - 52,
                   11, Weight::Regular, Ink::Text);
      write(drawing, std::to_string(spread.rows), {bars.x - 8, row.y + kSourceRow / 2}, 10,
            Weight::Medium, Ink::Text3, Align::Right);
      draw_spread(drawing, {bars.x, row.y, bars.width, kSourceRow}, model, s, memory, spread);
      char figures_text[48];
      std::snprintf(figures_text, sizeof figures_text, "%.1f / %.1f", 100 * spread.median,
                    100 * spread.p90);
      write(drawing, figures_text, {area.right() - 4, row.y + kSourceRow / 2}, 10.5f,
            Weight::Medium, Ink::Text, Align::Right);
      fill(drawing, row, {.ink = Ink::Canvas, .alpha = 0, .item = item});
      y += kSourceRow;
    }
    y += first ? 0 : 8;
  }
}

}  // namespace

Size validation_size(const ValidationModel& model) {
  float rows = 0;
  for (const ValidationSource& s : model.sources)
    rows += static_cast<float>((s.time.rows > 0 ? 1 : 0) + (s.memory.rows > 0 ? 1 : 0));
  return {1400, std::max(620.f, kValidationHead + kAgreementTop + 60 + rows * kSourceRow +
                                    kAgreementBottom)};
}

Drawing validation_picture(const ValidationModel& model) {
  const Size size = validation_size(model);
  Drawing drawing(size);
  draw_validation(drawing, {0, 0, size.width, size.height}, model, {});
  return drawing;
}

void draw_validation(Drawing& drawing, const Rect& area, const ValidationModel& model,
                     const ViewState& state) {
  const ClipScope clip(drawing, area);
  if (model.points.empty()) {
    write(drawing, "No row states enough to be predicted, so there is nothing to compare.",
          {area.x + 12, area.y + 24}, 12, Weight::Regular, Ink::Text2);
    return;
  }
  std::string head = validation_words(model);
  if (model.skipped > 0)
    head += ". " + format_count(model.skipped) +
            (model.skipped == 1 ? " row states" : " rows state") + " too little to be predicted";
  write_within(drawing, head, {area.x + 10, area.y + 15}, area.width - 20, 11, Weight::Medium,
               Ink::Text);
  const Rect below{area.x + 8, area.y + kValidationHead, area.width - 16,
                   std::max(0.f, area.height - kValidationHead)};
  const float table = std::min(kTable, below.width * 0.4f);
  const bool time = std::any_of(model.points.begin(), model.points.end(),
                                [](const auto& p) { return !p.memory; }),
             memory = std::any_of(model.points.begin(), model.points.end(),
                                  [](const auto& p) { return p.memory; });
  // The plot of times takes more of the width, because it has the most rows.
  const float room = below.width - table - kBetweenPlots;
  const float first = !memory ? room : !time ? 0 : room * 0.58f;
  if (time) draw_scatter(drawing, {below.x, below.y, first, below.height}, model, false, state);
  if (memory)
    draw_scatter(drawing,
                 {below.x + first + (time ? kBetweenPlots : 0), below.y,
                  room - first - (time ? kBetweenPlots : 0), below.height},
                 model, true, state);
  draw_errors(drawing, {below.right() - table, below.y, table, below.height}, model, state);
}

}  // namespace trainyard
