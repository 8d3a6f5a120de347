#include "visualizers/viewmodel/period_statistics.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

using Count = std::int64_t;

// Calls see(value, length) for each piece of [from, to).
template <class See>
void each_piece(const StepCurve& curve, Count from, Count to, const See& see) {
  for (std::size_t i = sample_at(curve, from); from < to; ++i) {
    const Count end = i + 1 < curve.at.size() ? std::min(to, curve.at[i + 1]) : to;
    see(curve.value[i], static_cast<double>(end - from));
    from = end;
  }
}

// Does the same for two curves at once.
template <class See>
void each_pair(const StepCurve& a, const StepCurve& b, Count from, Count to, const See& see) {
  std::size_t i = sample_at(a, from), j = sample_at(b, from);
  while (from < to) {
    const Count a_end = i + 1 < a.at.size() ? a.at[i + 1] : to;
    const Count b_end = j + 1 < b.at.size() ? b.at[j + 1] : to;
    const Count end = std::min({to, a_end, b_end});
    see(static_cast<double>(a.value[i]), static_cast<double>(b.value[j]),
        static_cast<double>(end - from));
    from = end;
    if (i + 1 < a.at.size() && a.at[i + 1] <= from) ++i;
    if (j + 1 < b.at.size() && b.at[j + 1] <= from) ++j;
  }
}

}  // namespace

WaveStatistics wave_statistics(const StepCurve& curve, Instant from, Instant to) {
  const Count first = value_at(curve, from);
  WaveStatistics s{first, first, static_cast<double>(first), 0};
  if (to <= from) return s;
  double area = 0;
  Count before = first;
  each_piece(curve, from.count(), to.count(), [&](Count value, double length) {
    s.lowest = std::min(s.lowest, value);
    s.highest = std::max(s.highest, value);
    s.risen += std::max<Count>(0, value - before);
    area += static_cast<double>(value) * length;
    before = value;
  });
  s.mean = area / static_cast<double>((to - from).count());
  return s;
}

double correlation(const StepCurve& a, const StepCurve& b, Instant from, Instant to) {
  const WaveStatistics of_a = wave_statistics(a, from, to), of_b = wave_statistics(b, from, to);
  if (of_a.amplitude() == 0 || of_b.amplitude() == 0) return 0;
  double ab = 0, aa = 0, bb = 0;
  each_pair(a, b, from.count(), to.count(), [&](double x, double y, double length) {
    const double dx = x - of_a.mean, dy = y - of_b.mean;
    ab += dx * dy * length;
    aa += dx * dx * length;
    bb += dy * dy * length;
  });
  return std::clamp(ab / std::sqrt(aa) / std::sqrt(bb), -1.0, 1.0);
}

}  // namespace trainyard
