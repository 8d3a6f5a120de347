#include "visualizers/viewmodel/viewport.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

using Count = std::int64_t;
constexpr Count kLowest = std::numeric_limits<Count>::min() / 2;  // keeps every difference of two
                                                                  // ends in 64 bits
constexpr Count kHighest = std::numeric_limits<Count>::max() / 2;

Count bounded(double ns) {
  if (std::isnan(ns)) return 0;
  if (ns <= static_cast<double>(kLowest)) return kLowest;
  if (ns >= static_cast<double>(kHighest)) return kHighest;
  return std::llround(ns);
}

Count bounded(Instant t) { return std::clamp(t.count(), kLowest, kHighest); }

Count span_of(const Viewport& v) { return std::max<Count>(1, bounded(v.to) - bounded(v.from)); }

// from + offset without overflow; offset may be anything.
Count moved(Count from, double offset) {
  const Count whole = bounded(offset);
  if (whole > 0 && from > kHighest - whole) return kHighest;
  if (whole < 0 && from < kLowest - whole) return kLowest;
  return from + whole;
}

Viewport with(Viewport v, Count from, Count to) {
  v.from = Instant{from};
  v.to = Instant{to};
  return v;
}

}  // namespace

double ns_per_px(const Viewport& v) {
  return static_cast<double>(span_of(v)) / std::max(1.0, double{v.plot.width});
}

double x_of(const Viewport& v, Instant t) {
  return double{v.plot.x} + static_cast<double>(bounded(t) - bounded(v.from)) / ns_per_px(v);
}

Instant time_at(const Viewport& v, double x) {
  return Instant{moved(bounded(v.from), (x - double{v.plot.x}) * ns_per_px(v))};
}

Viewport zoom(const Viewport& v, double factor, double x, const TimeLimits& limits) {
  if (!std::isfinite(factor) || factor <= 0 || !std::isfinite(x)) return v;
  const double share = (x - double{v.plot.x}) / std::max(1.0, double{v.plot.width});
  const double before = static_cast<double>(span_of(v));
  const double shortest = static_cast<double>(std::max<Count>(1, limits.shortest.count()));
  const double after = std::max(shortest, std::round(before / factor));
  const Count from = moved(bounded(v.from), share * (before - after));
  return clamp(with(v, from, moved(from, after)), limits);
}

Viewport pan(const Viewport& v, double dx, const TimeLimits& limits) {
  if (!std::isfinite(dx)) return v;
  const Count from = moved(bounded(v.from), -dx * ns_per_px(v));
  return clamp(with(v, from, moved(from, static_cast<double>(span_of(v)))), limits);
}

Viewport fit(const Viewport& v, Instant from, Instant to, const TimeLimits& limits) {
  Count low = bounded(from), high = bounded(to);
  const Count missing = std::max<Count>(1, limits.shortest.count()) - (high - low);
  if (missing > 0) {
    low -= missing / 2;
    high += missing - missing / 2;
  }
  return clamp(with(v, low, high), limits);
}

Viewport clamp(const Viewport& v, const TimeLimits& limits) {
  const Count first = bounded(limits.first), last = std::max(first + 1, bounded(limits.last));
  const double slack = std::clamp(limits.slack, 0.0, 1.0);
  const Count shortest = std::max<Count>(1, std::min(limits.shortest.count(), kHighest));
  // The data with its slack on both sides is the widest; slack is a part of the viewport, hence the
  // quotient.
  const double widest = static_cast<double>(last - first) / (1 - std::min(slack, 0.49) * 2);
  const Count span = std::max(shortest, std::min(span_of(v), bounded(widest)));
  const double margin = slack * static_cast<double>(span);
  const Count low = moved(first, -margin), high = moved(last, margin);
  Count from = bounded(v.from);
  if (from > high - span) from = high - span;
  if (from < low) from = low;
  if (high - low < span) from = low - (span - (high - low)) / 2;
  return with(v, from, from + span);
}

}  // namespace trainyard
