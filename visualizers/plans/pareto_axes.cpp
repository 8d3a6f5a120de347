#include "visualizers/plans/pareto_axes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr double kWideRange = 8;  // high over low beyond which an axis is logarithmic

// The axis holds the front and the capacity, and some of what lies around them.
ParetoScale pareto_scale(const ParetoModel& model, ParetoAxis axis) {
  double low = std::numeric_limits<double>::max(), high = 0, least = low, most = 0;
  const auto take = [&](const ParetoPoint& p) {
    const double v = value_of(model, p, axis);
    if (v > 0) low = std::min(low, v), high = std::max(high, v);
  };
  for (const std::size_t i : model.front) take(model.points[i]);
  for (const ParetoLetter& letter : model.letters) take(model.points[letter.point]);
  for (const ParetoPoint& p : model.points) {
    const double v = value_of(model, p, axis);
    most = std::max(most, v);
    if (v > 0) least = std::min(least, v);
    if (model.front.empty()) take(p);
  }
  if (high <= 0) return {0, 1, false};
  if (axis == ParetoAxis::Memory && model.capacity > 0) {
    high = std::max(high, model.capacity);
    high = std::min(std::max(high * 1.04, model.capacity * 1.7), std::max(most, high) * 1.04);
    low *= 0.88;
  } else if (axis == ParetoAxis::Rate) {
    low = std::min(low, high / 2.2) * 0.9;
    high *= 1.07;
  } else {
    high = std::min(std::max(high * 1.06, low * 2.3), std::max(most, high) * 1.06);
    // Quicker plans that do not fit show what more memory would buy.
    low = std::max(least, 0.7 * low) * 0.95;
  }
  if (high <= low) low = high * 0.9, high *= 1.1;
  return {low, high, high > kWideRange * low};
}

struct ParetoUnit {
  double size;
  const char* name;
};
ParetoUnit unit_of(ParetoAxis axis, double high) {
  switch (axis) {
    case ParetoAxis::Memory:
      return high >= 1 << 30 ? ParetoUnit{1 << 30, "GiB"} : ParetoUnit{1 << 20, "MiB"};
    case ParetoAxis::Step:
      return high >= 0.9    ? ParetoUnit{1, "s"}
             : high >= 9e-4 ? ParetoUnit{1e-3, "ms"}
                            : ParetoUnit{1e-6, "\u00B5s"};
    case ParetoAxis::Money:
      return {1, "$"};
    case ParetoAxis::Rate:
      return high >= 1e6   ? ParetoUnit{1e6, "million"}
             : high >= 1e3 ? ParetoUnit{1e3, "thousand"}
                           : ParetoUnit{1, ""};
  }
  return {1, ""};
}

std::vector<double> pareto_ticks(const ParetoScale& scale, double unit, int most) {
  const double low = scale.low / unit, high = scale.high / unit;
  if (!scale.logarithmic) return round_values(low, high, most);
  std::vector<double> values;
  for (const auto& [value, digit] : log_ticks(low, high))
    if (digit == 1 || digit == 2 || digit == 5) values.push_back(value);
  return values;
}

}  // namespace

void draw_pareto_axes(Drawing& drawing, const Rect& area, const ParetoPlot& plot,
                      const ParetoState& state) {
  const Rect& r = plot.rect;
  const ParetoUnit x = unit_of(state.x, plot.x.high), y = unit_of(state.y, plot.y.high);
  const int columns = std::max(2, static_cast<int>(r.width / 80)),
            rows = std::max(2, static_cast<int>(r.height / 44));
  for (const double value : pareto_ticks(plot.x, x.size, columns))
    draw_x_tick(drawing, r, plot.at(value * x.size, plot.y.low).x, digits_text(value));
  for (const double value : pareto_ticks(plot.y, y.size, rows))
    draw_y_tick(drawing, r, plot.at(plot.x.low, value * y.size).y, digits_text(value));
  const auto titled = [](ParetoAxis axis, const ParetoUnit& unit) {
    std::string words(title_of(axis));
    return unit.name[0] == '\0' ? words : words + ", " + unit.name;
  };
  write(drawing, titled(state.x, x), {r.x + r.width / 2, r.bottom() + 28}, 10.5f, Weight::Medium,
        Ink::Text2, Align::Center);
  write(drawing, titled(state.y, y), {area.x + 10, area.y + 15}, 10.5f, Weight::Medium, Ink::Text2);
}

double ParetoScale::share(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  return std::log(std::max(value, low * 1e-6) / low) / std::log(high / low);
}

double ParetoScale::value_at(double share) const {
  return logarithmic ? low * std::pow(high / low, share) : low + share * (high - low);
}

Point ParetoPlot::at(double x_value, double y_value) const {
  // Places far outside are moved closer, so that their coordinates stay small.
  const auto cut = [](double share) { return static_cast<float>(std::clamp(share, -4.0, 5.0)); };
  return {rect.x + rect.width * cut(x.share(x_value)),
          rect.bottom() - rect.height * cut(y.share(y_value))};
}
double ParetoPlot::x_value(float px) const {
  return x.value_at(static_cast<double>(px - rect.x) / std::max(1.f, rect.width));
}
double ParetoPlot::y_value(float px) const {
  return y.value_at(static_cast<double>(rect.bottom() - px) / std::max(1.f, rect.height));
}

ParetoPlot pareto_plot(const ParetoModel& model, const Rect& area, const ParetoState& state) {
  return {{area.x + kParetoMargins.left, area.y + kParetoMargins.top,
           std::max(1.f, area.width - kParetoMargins.left - kParetoMargins.right),
           std::max(1.f, area.height - kParetoMargins.top - kParetoMargins.bottom)},
          pareto_scale(model, state.x),
          pareto_scale(model, state.y)};
}

ParetoBrush brush_between(const ParetoPlot& plot, Point a, Point b) {
  const auto inside = [&](Point p) {
    return Point{std::clamp(p.x, plot.rect.x, plot.rect.right()),
                 std::clamp(p.y, plot.rect.y, plot.rect.bottom())};
  };
  const Point from = inside(a), to = inside(b);
  return {plot.x_value(std::min(from.x, to.x)), plot.x_value(std::max(from.x, to.x)),
          plot.y_value(std::max(from.y, to.y)), plot.y_value(std::min(from.y, to.y))};
}

}  // namespace trainyard
