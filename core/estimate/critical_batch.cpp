#include "core/estimate/critical_batch.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr int kMostDoublings = 8;  // beyond twice the prediction
constexpr double kTimes = kCriticalShare / (1 - kCriticalShare);

// The straight line through the steps of two numbers of microbatches.
CriticalBatch line_of(const StepOf& step, std::int64_t few, std::int64_t many) {
  const double a = to_seconds(step(few)), b = to_seconds(step(many));
  CriticalBatch line;
  line.each = (b - a) / static_cast<double>(many - few);
  line.fixed = std::max(0.0, a - line.each * static_cast<double>(few));
  return line;
}

}  // namespace

CriticalBatch predicted_critical_batch(const StepOf& step, std::int64_t multiple) {
  CriticalBatch line = line_of(step, 4 * multiple, 8 * multiple);
  line.microbatches = line.each > 0 ? kTimes * line.fixed / line.each : 0;
  line.at_once = line.microbatches <= static_cast<double>(multiple);
  return line;
}

CriticalBatch searched_critical_batch(const StepOf& step, std::int64_t multiple,
                                      const CriticalBatch& predicted) {
  const auto beyond = std::max<std::int64_t>(
      4, static_cast<std::int64_t>(
             std::ceil(2 * predicted.microbatches / static_cast<double>(multiple))));
  CriticalBatch found = line_of(step, beyond * multiple, 2 * beyond * multiple);
  if (found.each <= 0) return found;
  const auto took = [&](std::int64_t times) { return to_seconds(step(times * multiple)); };
  const auto attains = [&](std::int64_t times, double seconds) {
    return static_cast<double>(times * multiple) * found.each >= kCriticalShare * seconds;
  };
  std::int64_t below = 1, at = 2 * beyond;
  double before = took(below), after = took(at);
  if (attains(below, before)) {
    found.microbatches = static_cast<double>(multiple);
    found.at_once = true;
    return found;
  }
  for (int doubled = 0; !attains(at, after); after = took(at)) {
    if (++doubled > kMostDoublings)
      throw Error(Error::Kind::Unsupported,
                  "the throughput of this plan keeps rising with its batch, so that it has no "
                  "critical batch");
    below = at, before = after, at *= 2;
  }
  while (at - below > 1) {
    const std::int64_t middle = below + (at - below) / 2;
    const double seconds = took(middle);
    if (attains(middle, seconds))
      at = middle, after = seconds;
    else
      below = middle, before = seconds;
  }
  // Between neighbours the step is a straight line, start + slope * m.
  const auto m = static_cast<double>(below * multiple);
  const double slope = (after - before) / static_cast<double>(multiple), start = before - slope * m;
  found.microbatches = kCriticalShare * start / (found.each - kCriticalShare * slope);
  return found;
}

}  // namespace trainyard
