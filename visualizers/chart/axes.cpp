#include "visualizers/chart/axes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "visualizers/chart/time_plot.h"

namespace trainyard {
double round_step(double least) {
  const double decade = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * decade >= least) return digit * decade;
  return 10 * decade;
}

std::vector<double> round_values(double low, double high, int most) {
  double step = std::pow(10, std::floor(std::log10((high - low) / most)));
  for (const double times : {2.0, 2.5, 2.0})
    if ((high - low) / step > most) step *= times;
  std::vector<double> values;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= most + 1; ++i)
    if (const double value = (first + i) * step + 0.0; value <= high + step * 1e-6)
      values.push_back(value);
  return values;
}

std::vector<LogTick> log_ticks(double low, double high) {
  std::vector<LogTick> ticks;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
    for (int digit = 1; digit < 10; ++digit)
      if (const double value = decade * digit; value >= low && value <= high)
        ticks.push_back({value, digit});
  return ticks;
}

std::string digits_text(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value);
  return digits;
}

void draw_x_tick(Drawing& drawing, const Rect& plot, float x, const std::string& label,
                 TickText text) {
  line(drawing, {x, plot.y}, {x, plot.bottom()}, {.ink = Ink::Grid});
  write(drawing, label, {x, plot.bottom() + text.size + 1}, text.size, Weight::Medium, text.ink,
        Align::Center);
}

void draw_y_tick(Drawing& drawing, const Rect& plot, float y, const std::string& label,
                 TickText text) {
  line(drawing, {plot.x, y}, {plot.right(), y}, {.ink = Ink::Grid});
  write(drawing, label, {plot.x - 8, y}, text.size, Weight::Medium, text.ink, Align::Right);
}

}  // namespace trainyard
