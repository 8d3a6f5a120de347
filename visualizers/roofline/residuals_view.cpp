#include "visualizers/roofline/residuals_view.h"

#include <algorithm>
#include <cmath>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kHead = 40, kLeft = 66, kBottom = 38;
constexpr Size kPicture{1000, 620};

bool drawn(const ResidualPoint& p) { return p.measured.count() > 0 && p.predicted.count() > 0; }

// Both axes over the same range, so that the diagonal is where both agree.
struct Plot {
  Rect rect;
  double low = 1e300, high = 0;

  void take(Duration time) {
    if (time.count() <= 0) return;
    low = std::min(low, to_seconds(time));
    high = std::max(high, to_seconds(time));
  }
  float share(double value) const {
    return static_cast<float>(std::log(std::max(value, low * 1e-3) / low) / std::log(high / low));
  }
  float x(double value) const { return rect.x + rect.width * share(value); }
  float y(double value) const { return rect.bottom() - rect.height * share(value); }
};

Plot plot_over(const ResidualsModel& model, const Rect& rect) {
  Plot plot{rect};
  for (const ResidualPoint& p : model.points) {
    if (!drawn(p)) continue;
    plot.take(p.measured), plot.take(p.predicted);
    if (p.held_out) plot.take(*p.held_out);
  }
  plot.low /= 1.5, plot.high *= 1.5;
  return plot;
}

void draw_axes(Drawing& drawing, const Plot& plot) {
  const Rect& r = plot.rect;
  const double first = std::pow(10.0, std::floor(std::log10(plot.low)));
  const bool close = plot.high < 50 * plot.low;
  for (double decade = first; decade <= plot.high; decade *= 10)
    for (int digit = 1; digit < 10; ++digit) {
      const double value = decade * digit;
      if (value < plot.low || value > plot.high) continue;
      const Style style{.ink = Ink::Grid, .alpha = digit == 1 ? 1.f : 0.45f};
      line(drawing, {plot.x(value), r.y}, {plot.x(value), r.bottom()}, style);
      line(drawing, {r.x, plot.y(value)}, {r.right(), plot.y(value)}, style);
      if (digit != 1 && !(close && (digit == 2 || digit == 5))) continue;
      const std::string words = format_duration(seconds(value));
      write(drawing, words, {plot.x(value), r.bottom() + 11}, 10, Weight::Medium, Ink::Text2,
            Align::Center);
      write(drawing, words, {r.x - 6, plot.y(value)}, 10, Weight::Medium, Ink::Text2, Align::Right);
    }
  outline(drawing, r, {.ink = Ink::Border});
  write(drawing, "predicted", {r.x, r.y - 8}, 10.5f, Weight::Medium, Ink::Text2);
  write(drawing, "measured", {r.right(), r.bottom() + 27}, 10.5f, Weight::Medium, Ink::Text2,
        Align::Right);
}

void draw_diagonal(Drawing& drawing, const Plot& plot, double band) {
  const auto along = [&](double factor, const Style& style) {
    line(drawing, {plot.x(plot.low), plot.y(plot.low * factor)},
         {plot.x(plot.high), plot.y(plot.high * factor)}, style);
  };
  along(1, {.ink = Ink::Axis, .stroke = 1.4f});
  if (band <= 0) return;
  for (const double factor : {1 + band, 1 / (1 + band)})
    along(factor, {.ink = Ink::Axis, .dash_on = 4, .dash_off = 3});
}

void draw_points(Drawing& drawing, const Plot& plot, const ResidualsModel& model,
                 const ViewState& state) {
  for (std::size_t i = 0; i < model.points.size(); ++i) {
    const ResidualPoint& p = model.points[i];
    if (!drawn(p)) continue;
    const Item item{ItemKind::Dot, i};
    const bool chosen = state.selected == item;
    const float x = plot.x(to_seconds(p.measured));
    const Point before{x, plot.y(to_seconds(p.predicted))};
    if (chosen && p.held_out)
      line(drawing, before, {x, plot.y(to_seconds(*p.held_out))},
           {.ink = Ink::Select, .stroke = 2});
    ring(drawing, before, 3.5f,
         {.ink = Ink::Backward, .alpha = 0.9f, .stroke = 1.4f, .item = item});
    if (p.held_out)
      disc(drawing, {x, plot.y(to_seconds(*p.held_out))}, 3,
           {.ink = Ink::Forward, .alpha = 0.9f, .item = item});
    if (chosen) ring(drawing, before, 7, {.ink = Ink::Select, .stroke = 2});
  }
}

void draw_legend(Drawing& drawing, const Rect& plot, const ResidualsModel& model) {
  float y = plot.y + 12;
  const auto entry = [&](const std::string& words, auto mark) {
    mark(Point{plot.x + 14, y});
    write(drawing, words, {plot.x + 26, y}, 10.5f, Weight::Medium, Ink::Text2);
    y += 16;
  };
  entry(model.by,
        [&](Point at) { ring(drawing, at, 3.5f, {.ink = Ink::Backward, .stroke = 1.4f}); });
  if (model.held_out.points > 0)
    entry("held out: by the others",
          [&](Point at) { disc(drawing, at, 3, {.ink = Ink::Forward}); });
  if (model.band > 0)
    entry("± " + format_percent(model.band) + ", the band of a step", [&](Point at) {
      line(drawing, {at.x - 8, at.y}, {at.x + 6, at.y},
           {.ink = Ink::Axis, .dash_on = 4, .dash_off = 3});
    });
}

std::string ratio_text(Duration predicted, Duration measured) {
  return format_signed(100 * (to_seconds(predicted) / to_seconds(measured) - 1), 1) + " %";
}

}  // namespace

void draw_residuals(Drawing& drawing, const Rect& area, const ResidualsModel& model,
                    const ViewState& state) {
  const ClipScope clip(drawing, area);
  write(drawing, fit_text(residuals_words(model), area.width - 20, 11, Weight::Medium),
        {area.x + 10, area.y + 15}, 11, Weight::Medium, Ink::Text);
  const Rect rect{area.x + kLeft, area.y + kHead, std::max(1.f, area.width - kLeft - 12),
                  std::max(1.f, area.height - kHead - kBottom)};
  const Plot plot = plot_over(model, rect);
  if (plot.high <= plot.low) return;
  draw_axes(drawing, plot);
  const ClipScope inside(drawing, rect);
  draw_diagonal(drawing, plot, model.band);
  draw_points(drawing, plot, model, state);
  draw_legend(drawing, rect, model);
}

Hover describe_residuals(const ResidualsModel& model, Item item) {
  Hover hover;
  if (item.kind != ItemKind::Dot || item.tag >= model.points.size()) return hover;
  const ResidualPoint& p = model.points[item.tag];
  hover.title = p.name;
  hover.where = p.shape;
  hover.value = "measured " + format_duration(p.measured);
  hover.lines = {model.by + " " + format_duration(p.predicted) + ", " +
                 ratio_text(p.predicted, p.measured)};
  if (p.held_out)
    hover.lines.push_back("by the others " + format_duration(*p.held_out) + ", " +
                          ratio_text(*p.held_out, p.measured));
  else
    hover.lines.push_back("the only one of its kind, so nothing was held out");
  hover.lines.push_back(format_count(p.count) +
                        (p.count == 1 ? " measurement" : " measurements, their median"));
  return hover;
}

Drawing residuals_picture(const ResidualsModel& model) {
  Drawing drawing(kPicture);
  draw_residuals(drawing, {0, 0, kPicture.width, kPicture.height}, model, {});
  return drawing;
}

}  // namespace trainyard
