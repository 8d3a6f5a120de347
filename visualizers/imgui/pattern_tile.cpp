#include "visualizers/imgui/pattern_tile.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;

struct Look {
  enum class Kind { Rising, Falling, Cross, Dots } kind;
  double pitch;   // px between lines or dots
  double stroke;  // px: width of lines, diameter of dots
};

Look look_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::Overflow:
      return {Look::Kind::Rising, 5, 1.5};
    case Pattern::Communication:
      return {Look::Kind::Falling, 4, 1};
    case Pattern::Swap:
      return {Look::Kind::Cross, 5, 0.8};
    case Pattern::Recompute:
      return {Look::Kind::Dots, 5, 1.8};
    default:
      return {Look::Kind::Rising, 6, 1};
  }
}

// Distance from `at` to the nearest whole multiple of `period`.
double to_multiple(double at, double period) {
  return std::fabs(at - period * std::round(at / period));
}

}  // namespace

int pattern_period(Pattern pattern, double scale) {
  const Look look = look_of(pattern);
  const double pitch = look.pitch * scale * (look.kind == Look::Kind::Dots ? 1 : kSqrt2);
  return std::max(2, static_cast<int>(std::lround(pitch)));
}

unsigned char pattern_coverage(Pattern pattern, double scale, int x, int y) {
  const Look look = look_of(pattern);
  const double period = pattern_period(pattern, scale), px = x + 0.5, py = y + 0.5;
  const double rising = to_multiple(px + py, period) / kSqrt2,
               falling = to_multiple(px - py, period) / kSqrt2;
  const double dx = px - period / 2, dy = py - period / 2;
  double distance = rising;
  if (look.kind == Look::Kind::Falling) distance = falling;
  if (look.kind == Look::Kind::Cross) distance = std::min(rising, falling);
  if (look.kind == Look::Kind::Dots) distance = std::sqrt(dx * dx + dy * dy);
  const double coverage = std::clamp(look.stroke * scale / 2 + 0.5 - distance, 0.0, 1.0);
  return static_cast<unsigned char>(std::lround(255 * coverage));
}

}  // namespace trainyard
