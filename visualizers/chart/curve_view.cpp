#include "visualizers/chart/curve_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/panel.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kCurveAxis = 40;  // px below the plot

struct CurveScale {
  double low = 0, high = 1;
  bool log = false;
  bool has(double v) const { return std::isfinite(v) && (!log || v > 0); }
  double share(double v) const {
    const double s = log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
    return std::clamp(s, 0.0, 1.0);
  }
};

struct CurvePlot {
  Rect rect;
  CurveScale x, y;
  Point at(double u, double v) const {
    return {rect.x + rect.width * static_cast<float>(x.share(u)),
            rect.bottom() - rect.height * static_cast<float>(y.share(v))};
  }
};

CurveScale x_scale(const CurveModel& model) {
  CurveScale scale{model.x.front(), model.x.back(), model.log_x && model.x.front() > 0};
  if (!(scale.high > scale.low)) scale.high = scale.low + 1;
  return scale;
}

CurveScale y_scale(const CurveModel& model) {
  CurveScale scale{0, 0, model.log_y};
  double least = 0, most = 0;
  bool any = false;
  const auto take = [&](double v) {
    if (!scale.has(v)) return;
    least = any ? std::min(least, v) : v;
    most = any ? std::max(most, v) : v;
    any = true;
  };
  for (const CurveModel::Line& line : model.lines)
    for (const double v : line.values) take(v);
  for (const CurveModel::Mark& mark : model.marks) take(mark.value);
  if (!any) return {model.log_y ? 1.0 : 0.0, model.log_y ? 10.0 : 1.0, model.log_y};
  if (scale.log) {
    scale.low = least / 1.3;
    scale.high = most * 1.3;
    return scale;
  }
  scale.low = least >= 0 && !model.fitted ? 0 : least - 0.05 * (most - least);
  scale.high = most > scale.low ? most + 0.08 * (most - scale.low) : scale.low + 1;
  return scale;
}

std::vector<double> y_ticks(const CurveScale& y, float height) {
  const int most = std::max(3, static_cast<int>(height / 44));
  if (!y.log) return round_values(y.low, y.high, most);
  std::vector<double> ticks;
  const int first = static_cast<int>(std::ceil(std::log10(y.low))),
            last = static_cast<int>(std::floor(std::log10(y.high)));
  const int step = std::max(1, (last - first) / most + 1);
  for (int n = first; n <= last; n += step) ticks.push_back(std::pow(10, n));
  return ticks.empty() ? std::vector<double>{y.low, y.high} : ticks;
}

void draw_curve_axes(Drawing& drawing, const CurvePlot& plot, const CurveModel& model,
                     float large) {
  for (const double tick : y_ticks(plot.y, plot.rect.height)) {
    draw_y_tick(drawing, plot.rect, plot.at(model.x.front(), tick).y,
                panel_number(tick, model.unit), {.size = 11 * large});
  }
  float free = plot.rect.x - 100;
  for (std::size_t i = 0; i < model.x.size(); ++i) {
    const float x = plot.at(model.x[i], plot.y.low).x;
    line(drawing, {x, plot.rect.bottom()}, {x, plot.rect.bottom() + 4}, {.ink = Ink::Axis});
    const std::string& name = model.x_names[i];
    const float half = text_width(name, 11 * large) / 2;
    if (x - half < free) continue;
    write(drawing, name, {x, plot.rect.bottom() + 13 * large}, 11 * large, Weight::Medium,
          Ink::Text2, Align::Center);
    free = x + half + 8;
  }
  line(drawing, {plot.rect.x, plot.rect.bottom()}, {plot.rect.right(), plot.rect.bottom()},
       {.ink = Ink::Axis});
  write(drawing, model.x_label, {plot.rect.right(), plot.rect.bottom() + 29 * large}, 11 * large,
        Weight::Medium, Ink::Text3, Align::Right);
}

Style style_of(const CurveModel::Line& curve) {
  Style style{.ink = curve.ink, .stroke = 2};
  if (curve.dashed) style.dash_on = 5, style.dash_off = 3;
  return style;
}

void draw_values_line(Drawing& drawing, const CurvePlot& plot, const CurveModel& model,
                      std::size_t index) {
  const CurveModel::Line& curve = model.lines[index];
  const Style style = style_of(curve);
  std::vector<Point> run;
  const auto flush = [&] {
    if (run.size() > 1) polyline(drawing, run, style);
    run.clear();
  };
  for (std::size_t i = 0; i < model.x.size() && i < curve.values.size(); ++i) {
    if (!plot.y.has(curve.values[i])) {
      flush();
      continue;
    }
    run.push_back(plot.at(model.x[i], curve.values[i]));
  }
  flush();
  if (curve.dashed) return;
  for (std::size_t i = 0; i < model.x.size() && i < curve.values.size(); ++i)
    if (plot.y.has(curve.values[i]))
      disc(drawing, plot.at(model.x[i], curve.values[i]), 3.5f,
           {.ink = curve.ink, .item = {ItemKind::Dot, index * 4096 + i}});
}

void draw_value_now(Drawing& drawing, const CurvePlot& plot, const CurveModel& model, float large) {
  const auto found = std::find(model.x.begin(), model.x.end(), *model.now);
  if (found == model.x.end()) return;
  const auto i = static_cast<std::size_t>(found - model.x.begin());
  const float x = plot.at(*model.now, plot.y.low).x;
  line(drawing, {x, plot.rect.y}, {x, plot.rect.bottom()},
       {.ink = Ink::Accent, .dash_on = 2, .dash_off = 3});
  if (model.lines.empty() || i >= model.lines[0].values.size()) return;
  const double value = model.lines[0].values[i];
  if (!plot.y.has(value)) return;
  const Point at = plot.at(*model.now, value);
  ring(drawing, at, 7, {.ink = Ink::Select, .stroke = 2});
  const bool left = at.x > plot.rect.x + plot.rect.width * 0.8f;
  write(drawing, panel_number(value, model.unit), {left ? at.x - 12 : at.x + 12, at.y - 12 * large},
        12 * large, Weight::SemiBold, Ink::Text, left ? Align::Right : Align::Left);
}

void draw_curve_mark(Drawing& drawing, const CurvePlot& plot, const CurveModel::Mark& mark,
                     float large) {
  if (!plot.y.has(mark.value) || !plot.x.has(mark.x)) return;
  const Point at = plot.at(mark.x, mark.value);
  const Ink ink = mark.truth ? Ink::Select : Ink::Accent;
  if (mark.truth)
    ring(drawing, at, 6, {.ink = ink, .stroke = 2.5f});
  else
    disc(drawing, at, 5, {.ink = ink});
  line(drawing, {at.x - 26, at.y}, {at.x + 26, at.y}, {.ink = ink, .stroke = 2});
  const float half = text_width(mark.words, 11 * large, Weight::SemiBold) / 2;
  const float x =
      std::clamp(at.x, plot.rect.x + half, std::max(plot.rect.x + half, plot.rect.right() - half));
  // The words of the truth stand below its place and those of a guess above, so that both can be
  // read where they lie close together.
  const bool above = !mark.truth && at.y - 16 * large > plot.rect.y;
  const float y = above ? at.y - 15 * large : at.y + 16 * large;
  write(drawing, mark.words, {x, y}, 11 * large, Weight::SemiBold, ink, Align::Center);
}

void draw_lines_legend(Drawing& drawing, const Rect& area, const CurveModel& model, float large) {
  if (model.lines.size() < 2) return;
  std::vector<LegendEntry> entries;
  for (const CurveModel::Line& curve : model.lines)
    entries.push_back({curve.name, line_sign(style_of(curve))});
  draw_legend_before(drawing, {area.right() - kPanelPad, area.y + kPanelHead * large / 2}, entries,
                     area.x, {.size = 11 * large});
}

}  // namespace

void draw_curve(Drawing& drawing, const Rect& area, const CurveModel& model, float large) {
  const ClipScope clip(drawing, area);
  draw_panel_title(drawing, area, model.title, large, 0.7f);
  draw_lines_legend(drawing, area, model, large);
  if (model.x.size() < 2 || model.x_names.size() != model.x.size()) return;
  CurvePlot plot;
  plot.x = x_scale(model);
  plot.y = y_scale(model);
  float numbers = 30;
  for (const double tick : y_ticks(plot.y, area.height))
    numbers = std::max(numbers, text_width(panel_number(tick, model.unit), 11 * large));
  plot.rect = {area.x + kPanelPad + numbers + 12, area.y + kPanelHead * large + 6,
               std::max(20.f, area.width - 2 * kPanelPad - numbers - 40),
               std::max(10.f, area.height - (kPanelHead + kCurveAxis) * large - 6)};
  draw_curve_axes(drawing, plot, model, large);
  for (std::size_t i = model.lines.size(); i-- > 0;) draw_values_line(drawing, plot, model, i);
  if (model.now) draw_value_now(drawing, plot, model, large);
  for (const CurveModel::Mark& mark : model.marks) draw_curve_mark(drawing, plot, mark, large);
}

Hover describe_curve(const CurveModel& model, Item item, std::string_view unit) {
  if (item.kind != ItemKind::Dot) return {};
  const std::size_t line = item.tag / 4096, point = item.tag % 4096;
  if (line >= model.lines.size() || point >= model.x.size()) return {};
  return {fmt::format("{} {}: {:.3g}{}{}, {}", model.x_names[point], model.x_label,
                      model.lines[line].values[point], unit.empty() ? "" : " ", unit,
                      model.lines[line].name),
          "",
          "",
          {}};
}

std::string curve_words(const CurveModel& model) {
  std::string text = model.title + ".";
  for (const CurveModel::Line& line : model.lines) {
    const auto [least, most] = std::minmax_element(line.values.begin(), line.values.end());
    if (line.values.empty() || line.values.size() > model.x_names.size()) continue;
    text += fmt::format(" {}: {:.3g} at {}, {:.3g} at {}, between {:.3g} and {:.3g}.", line.name,
                        line.values.front(), model.x_names.front(), line.values.back(),
                        model.x_names[line.values.size() - 1], *least, *most);
  }
  return text;
}

}  // namespace trainyard
