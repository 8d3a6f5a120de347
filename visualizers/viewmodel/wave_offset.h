// What several memory waves on one device need together, as a function of how far they are shifted
// against each other: the curve under which Tick-Tock's offset is dragged (Wang et al., "Wavelet",
// MLSys 2021).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "visualizers/viewmodel/step_curve.h"

namespace trainyard {

/// One wave's bytes over one cycle, repeated for ever: value[i] holds in [at[i], at[i + 1]), the
/// last one until the period ends.
struct WaveCycle {
  Duration period{1};
  std::vector<std::int64_t> at;     // ns, strictly increasing, at[0] == 0, all below the period
  std::vector<std::int64_t> value;  // bytes, one each
};
/// The part [from, from + period) of a curve. Throws Error{InvalidInput} where the period is not
/// positive.
WaveCycle wave_cycle(const StepCurve&, Instant from, Duration period);

std::int64_t peak_of(const WaveCycle&);
/// Mean over time, in bytes.
double mean_of(const WaveCycle&);

/// The sum over one period of `waves` >= 1 copies of the cycle, copy j shifted later by
/// j * offset.
WaveCycle sum_of_waves(const WaveCycle&, int waves, Duration offset);
/// Its peak: max over t of sum over j of a(t - j offset).
std::int64_t peak_of_waves(const WaveCycle&, int waves, Duration offset);

/// peak_of_waves at offsets i / steps of the period, i = 0 .. steps.
std::vector<std::int64_t> offset_scan(const WaveCycle&, int waves, int steps);
/// Index of the least peak of such a scan; of equals the middle of the first run of them.
std::size_t best_offset(const std::vector<std::int64_t>& scan);

}  // namespace trainyard
