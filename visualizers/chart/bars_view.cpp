#include "visualizers/chart/bars_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kRow = 54, kBar = 22, kHead = 30, kAxis = 30, kPad = 14;

struct BarsAxis {
  Rect plot;
  double high = 1;
  float x(double value) const {
    const double share = std::clamp(value / high, 0.0, 1.0);
    return plot.x + plot.width * static_cast<float>(share);
  }
};

double end_of(const BarsModel::Row& row) {
  double sum = 0;
  for (const double value : row.values) sum += value;
  return sum;
}

BarsAxis axis_of(const BarsModel& model, const Rect& area, float large) {
  float names = 40;
  double high = 0;
  for (const BarsModel::Row& row : model.rows) {
    names = std::max(names, text_width(row.label, 12 * large, Weight::SemiBold));
    if (!row.hidden) high = std::max(high, end_of(row));
  }
  for (const BarsModel::Mark& mark : model.marks) high = std::max(high, mark.value);
  names = std::min(names + 16, area.width * 0.3f);
  const float figures = 84 * large;
  BarsAxis axis;
  axis.plot = {area.x + kPad + names, area.y + kHead * large,
               std::max(20.f, area.width - 2 * kPad - names - figures),
               std::max(1.f, area.height - (kHead + kAxis) * large)};
  axis.high = high > 0 ? high * 1.05 : 1;
  return axis;
}

void draw_legend(Drawing& drawing, const Rect& area, const BarsModel& model, float large) {
  if (model.parts.size() < 2) return;
  float x = area.right() - kPad;
  const float y = area.y + kHead * large / 2;
  const float least = area.x + kPad + text_width(model.title, 12 * large, Weight::SemiBold) + 20;
  for (std::size_t i = model.parts.size(); i-- > 0;) {
    const BarsModel::Part& part = model.parts[i];
    x -= text_width(part.name, 11 * large);
    if (x - 20 < least) return;
    write(drawing, part.name, {x, y}, 11 * large, Weight::Medium, Ink::Text2);
    x -= 15;
    const Rect swatch{x, y - 4.5f, 9, 9};
    if (part.idle)
      hatch(drawing, swatch, Pattern::Idle);
    else
      box(drawing, swatch, {.ink = part.ink});
    x -= 14;
  }
}

void draw_axis(Drawing& drawing, const BarsAxis& axis, const std::string& unit, float large) {
  for (const double tick : axis_ticks(0, axis.high, static_cast<int>(axis.plot.width / 90) + 2)) {
    const float x = axis.x(tick);
    if (tick > axis.high) continue;
    line(drawing, {x, axis.plot.y}, {x, axis.plot.bottom()}, {.ink = Ink::Grid});
    write(drawing, panel_number(tick, unit), {x, axis.plot.bottom() + 12 * large}, 11 * large,
          Weight::Medium, Ink::Text2, Align::Center);
  }
  line(drawing, {axis.plot.x, axis.plot.y}, {axis.plot.x, axis.plot.bottom()}, {.ink = Ink::Axis});
}

void draw_row(Drawing& drawing, const BarsAxis& axis, const BarsModel& model, std::size_t i,
              float y, float bar, float large) {
  const BarsModel::Row& row = model.rows[i];
  const float left = axis.plot.x;
  write(drawing, fit_text(row.label, left - kPad - 4, 12 * large, Weight::SemiBold), {left - 10, y},
        12 * large, Weight::SemiBold, Ink::Text, Align::Right);
  if (row.hidden) {
    outline(drawing, {left, y - bar / 2, axis.plot.width, bar}, {.ink = Ink::BorderStrong});
    write(drawing, "hidden until you predict", {left + axis.plot.width / 2, y}, 11 * large,
          Weight::Medium, Ink::Text3, Align::Center);
    return;
  }
  double at = 0;
  for (std::size_t p = 0; p < model.parts.size() && p < row.values.size(); ++p) {
    const float from = axis.x(at), to = axis.x(at += row.values[p]);
    if (to - from < 0.05f) continue;
    const Rect rect{from, y - bar / 2, std::max(0.5f, to - from - (to - from > 3 ? 1.f : 0.f)),
                    bar};
    const Item item{ItemKind::Other, i * 64 + p};
    if (model.parts[p].idle) {
      hatch(drawing, rect, Pattern::Idle, item);
      outline(drawing, rect, {.ink = Ink::BorderStrong});
    } else {
      box(drawing, rect, {.ink = model.parts[p].ink, .item = item});
    }
    const std::string words = panel_number(row.values[p], model.unit);
    if (model.parts.size() > 1 && text_width(words, 11 * large, Weight::SemiBold) + 10 < rect.width)
      write(drawing, words, {rect.x + rect.width / 2, y}, 11 * large, Weight::SemiBold,
            model.parts[p].idle ? Ink::Text : label_ink(model.parts[p].ink), Align::Center);
  }
  write(drawing, panel_number(at, model.unit), {axis.x(at) + 8, y}, 12 * large, Weight::SemiBold,
        Ink::Text);
}

// A person's mark is a dashed accent with a dot, the truth a solid line: told by shape too.
void draw_mark(Drawing& drawing, const BarsAxis& axis, const BarsModel::Mark& mark, float y,
               float bar, float large) {
  const float x = axis.x(mark.value);
  const Ink ink = mark.truth ? Ink::Select : Ink::Accent;
  const float reach = bar / 2 + 5;
  if (mark.truth)
    line(drawing, {x, y - reach}, {x, y + reach}, {.ink = ink, .stroke = 2.5f});
  else
    line(drawing, {x, y - reach}, {x, y + reach},
         {.ink = ink, .stroke = 2, .dash_on = 4, .dash_off = 2});
  if (!mark.truth) disc(drawing, {x, y - reach}, 4, {.ink = ink});
  const float width = text_width(mark.words, 11 * large, Weight::SemiBold);
  const bool left = x + 8 + width > axis.plot.right() + 70;
  const float label = mark.truth ? y + reach - 1 : y - reach;
  write(drawing, mark.words, {left ? x - 8 : x + 8, label}, 11 * large, Weight::SemiBold, ink,
        left ? Align::Right : Align::Left);
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int most) {
  if (!(high > low) || !std::isfinite(high - low)) return {low, low + 1};
  most = std::clamp(most, 2, 20);
  double step = std::pow(10, std::floor(std::log10((high - low) / most)));
  for (const double times : {2.0, 2.5, 2.0})
    if ((high - low) / step > most) step *= times;
  std::vector<double> ticks;
  for (double n = std::floor(low / step + 1e-9); n * step <= high + step * 1e-6; ++n)
    ticks.push_back(std::abs(n) < 0.5 ? 0 : n * step);
  while (ticks.size() < 2) ticks.push_back(ticks.empty() ? low : ticks.back() + step);
  return ticks;
}

std::string panel_number(double value, const std::string& unit) {
  if (!std::isfinite(value)) return "\u2013";
  char text[48];
  const double size = std::abs(value);
  if (unit == "%")
    std::snprintf(text, sizeof text, size >= 99.95 || value == std::round(value) ? "%.0f" : "%.1f",
                  value);
  else if (value == std::round(value) && size < 1e6)
    std::snprintf(text, sizeof text, "%.0f", value);
  else if (size >= 1e6 || size < 1e-3)
    std::snprintf(text, sizeof text, "%.1e", value);
  else
    std::snprintf(text, sizeof text, "%.*f",
                  std::max(0, 2 - static_cast<int>(std::floor(std::log10(size)))), value);
  std::string words = text;
  if (words[0] == '-') words = "\u2212" + words.substr(1);
  return unit.empty() ? words : words + " " + unit;
}

float bars_height(const BarsModel& model, float large) {
  return (kHead + kAxis + kRow * static_cast<float>(model.rows.size())) * large;
}

void draw_bars(Drawing& drawing, const Rect& area, const BarsModel& model, float large) {
  const ClipScope clip(drawing, area);
  write(drawing, fit_text(model.title, area.width - 2 * kPad, 12 * large, Weight::SemiBold),
        {area.x + kPad, area.y + kHead * large / 2}, 12 * large, Weight::SemiBold, Ink::Text);
  draw_legend(drawing, area, model, large);
  if (model.rows.empty()) return;
  const BarsAxis axis = axis_of(model, area, large);
  draw_axis(drawing, axis, model.unit, large);
  const float row =
      std::min(72.f * large, axis.plot.height / static_cast<float>(model.rows.size()));
  const float bar = std::min(kBar * large * 1.3f, row * 0.55f);
  for (std::size_t i = 0; i < model.rows.size(); ++i)
    draw_row(drawing, axis, model, i, axis.plot.y + row * (static_cast<float>(i) + 0.5f), bar,
             large);
  for (const BarsModel::Mark& mark : model.marks)
    if (mark.row < model.rows.size())
      draw_mark(drawing, axis, mark, axis.plot.y + row * (static_cast<float>(mark.row) + 0.5f), bar,
                large);
}

void draw_histogram(Drawing& drawing, const Rect& area, const HistogramModel& model, float large) {
  const ClipScope clip(drawing, area);
  write(drawing, fit_text(model.title, area.width - 2 * kPad, 12 * large, Weight::SemiBold),
        {area.x + kPad, area.y + 15 * large}, 12 * large, Weight::SemiBold, Ink::Text);
  write(drawing, fit_text(model.words, area.width - 2 * kPad, 11 * large),
        {area.x + kPad, area.y + 34 * large}, 11 * large, Weight::Medium, Ink::Text2);
  const Rect plot{area.x + kPad + 10, area.y + 62 * large,
                  std::max(20.f, area.width - 2 * kPad - 20),
                  std::max(10.f, area.height - 96 * large)};
  int most = 1;
  for (const int count : model.bins) most = std::max(most, count);
  const auto x_of = [&](double value) {
    const double share = (value - model.low) / (model.high - model.low);
    return plot.x + plot.width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  };
  for (const double tick :
       axis_ticks(model.low, model.high, static_cast<int>(plot.width / 90) + 2)) {
    if (tick < model.low || tick > model.high) continue;
    write(drawing, panel_number(tick, model.unit), {x_of(tick), plot.bottom() + 14 * large},
          11 * large, Weight::Medium, Ink::Text2, Align::Center);
  }
  const float width = plot.width / static_cast<float>(std::max<std::size_t>(1, model.bins.size()));
  for (std::size_t i = 0; i < model.bins.size(); ++i) {
    const float height = plot.height * static_cast<float>(model.bins[i]) / static_cast<float>(most);
    if (model.bins[i] == 0) continue;
    const Rect bar{plot.x + width * static_cast<float>(i) + 1, plot.bottom() - height, width - 2,
                   height};
    box(drawing, bar, {.ink = Ink::Forward, .item = {ItemKind::Other, i}});
    write(drawing, std::to_string(model.bins[i]), {bar.x + bar.width / 2, bar.y - 8 * large},
          11 * large, Weight::SemiBold, Ink::Text, Align::Center);
  }
  line(drawing, {plot.x, plot.bottom()}, {plot.right(), plot.bottom()}, {.ink = Ink::Axis});
  const float x = x_of(model.truth);
  line(drawing, {x, plot.y - 8}, {x, plot.bottom()}, {.ink = Ink::Select, .stroke = 2.5f});
  const bool left = x > plot.x + plot.width * 0.6f;
  write(drawing, "it is " + panel_number(model.truth, model.unit),
        {left ? x - 8 : x + 8, plot.y - 8}, 11 * large, Weight::SemiBold, Ink::Select,
        left ? Align::Right : Align::Left);
}

}  // namespace trainyard
