// What a wave of memory does over a part of the run, for example one period: how high, how far it
// swings, how two swing against each other.
#pragma once

#include "visualizers/viewmodel/step_curve.h"

namespace trainyard {

/// Bytes over [from, to), to > from.
struct WaveStatistics {
  std::int64_t lowest = 0, highest = 0;
  double mean = 0;         // over time
  std::int64_t risen = 0;  // sum of all rises after `from`: what was taken anew
  std::int64_t amplitude() const { return highest - lowest; }
};
/// Exact; linear in the samples of the part. An empty part counts as its first instant.
WaveStatistics wave_statistics(const StepCurve&, Instant from, Instant to);

/// Pearson's coefficient of two curves over [from, to), weighted by time: -1 where one falls as the
/// other rises. 0 where either does not change. Linear in the samples of the part.
double correlation(const StepCurve&, const StepCurve&, Instant from, Instant to);

}  // namespace trainyard
