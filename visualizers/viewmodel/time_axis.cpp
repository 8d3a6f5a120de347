#include "visualizers/viewmodel/time_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace trainyard {
namespace {

using Count = std::int64_t;

struct AxisUnit {
  Count ns;
  int power;  // 10^power ns
  const char* name;
};
constexpr std::array<AxisUnit, 4> kUnits = {
    {{1, 0, "ns"}, {1'000, 3, "\u00B5s"}, {1'000'000, 6, "ms"}, {1'000'000'000, 9, "s"}}};

struct Step {
  Count ns = 1;
  int power = 0;  // ns = {1, 2, 5} x 10^power
  Count minor = 1;
};

// The smallest 1-2-5 step that is at least `ns`.
Step round_step(double ns) {
  Step step;
  for (Count decade = 1; decade <= 1'000'000'000'000'000'000 / 5; decade *= 10, ++step.power)
    for (const Count digit : {1, 2, 5}) {
      step.ns = digit * decade;
      step.minor = digit == 2 ? std::max<Count>(1, step.ns / 4) : std::max<Count>(1, step.ns / 5);
      if (step.ns % step.minor != 0) step.minor = step.ns;
      if (static_cast<double>(step.ns) >= ns) return step;
    }
  return step;
}

// The unit in which the farther end of the axis has at most four digits before the point.
const AxisUnit& unit_of(const Viewport& v) {
  const double reach = std::max(std::fabs(static_cast<double>(v.from.count())),
                                std::fabs(static_cast<double>(v.to.count())));
  for (const AxisUnit& unit : kUnits)
    if (reach < 1000.0 * static_cast<double>(unit.ns)) return unit;
  return kUnits.back();
}

std::string in_unit(Count ns, const AxisUnit& unit, int step_power) {
  const int decimals = std::max(0, unit.power - step_power);
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.*f", decimals,
                std::fabs(static_cast<double>(ns)) / static_cast<double>(unit.ns));
  return (ns < 0 ? "\u2212" : "") + std::string(digits);
}

Count floor_to(Count t, Count step) {
  const Count rest = t % step;
  return t - (rest < 0 ? rest + step : rest);
}

}  // namespace

TimeAxis time_axis(const Viewport& v, float spacing) {
  const double least = ns_per_px(v) * std::max(1.0, double{spacing});
  const Step step = round_step(least);
  const AxisUnit& unit = unit_of(v);
  TimeAxis axis{Duration{step.ns}, Duration{step.minor}, {}};
  Tick* first = nullptr;
  Tick* last = nullptr;
  const Count low =
      floor_to(v.from.count(), step.minor) + (v.from.count() % step.minor == 0 ? 0 : step.minor);
  const Count count = (v.to.count() - 1 - low) / step.minor + 1;
  axis.ticks.reserve(static_cast<std::size_t>(std::max<Count>(0, count)));
  for (Count i = 0; i < count; ++i) {
    const Count at = low + i * step.minor;
    const bool major = at % step.ns == 0;
    axis.ticks.push_back(
        {Instant{at}, major, major ? in_unit(at, unit, step.power) : std::string()});
    if (!major) continue;
    last = &axis.ticks.back();
    if (first == nullptr) first = last;
  }
  const std::string suffix = std::string(" ") + unit.name;
  if (first != nullptr) first->label += suffix;
  if (last != nullptr && last != first) last->label += suffix;
  return axis;
}

}  // namespace trainyard
