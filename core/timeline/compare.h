// This file compares two timelines of one program, the predicted and the measured one: by how much
// the step differs, how much of that each cause explains, and how far the memory waves are apart.
#pragma once

#include <string_view>
#include <vector>

#include "core/timeline/metrics.h"
#include "core/timeline/residual_origin.h"

namespace trainyard {

/// A CauseResidual is the time of one kind of work in a device's step. The differences of all
/// causes sum exactly to the difference of the step.
struct CauseResidual {
  std::string_view name;  // "forward", "pipeline", "bubble"
  Duration predicted{}, measured{};
  ResidualOrigin origin;  // where most of the difference lies
  Duration difference() const { return measured - predicted; }
};

/// A WaveResidual compares the two waves of one device over one step.
struct WaveResidual {
  DeviceId device;
  Bytes predicted_peak{}, measured_peak{};
  CategoryBytes predicted_most{}, measured_most{};  // each category at its own peak
  /// Largest distance of the two waves at the same share of their steps. Where a buffer is
  /// allocated or freed a little earlier or later, its whole size counts as distance there.
  Bytes over_time{};
  /// Largest distance at the same point of the work: just after each computation of the device has
  /// begun and just before it ends. A step that is merely stretched in time has no error here.
  /// Where waves share the device, only where each computation has begun: the others have begun the
  /// same by then in both (core/lowering/hold_phase.h), but before it ends they may be anywhere in
  /// what runs beside it.
  Bytes over_work{};
  /// These are shares of the predicted peak, 0 where that is 0.
  double over_time_share() const { return of_peak(over_time); }
  double over_work_share() const { return of_peak(over_work); }
  double peak_share() const { return of_peak(measured_peak - predicted_peak); }  // signed

 private:
  double of_peak(Bytes bytes) const {
    return predicted_peak.value > 0 ? bytes / predicted_peak : 0;
  }
};

/// BusyShares are the shares of its step in which a device works, in [0, 1].
struct BusyShares {
  double predicted = 0, measured = 0;
};

struct TimelineComparison {
  Duration predicted_step{}, measured_step{};
  double predicted_bubble = 0, measured_bubble = 0;  // as computed by bubble_fraction()
  /// Difference of the step: measured over predicted, minus 1; 0 where nothing was predicted.
  double step_share() const;
  DeviceId device;  // the device of the causes, which is critical in the measured step
  std::vector<CauseResidual> causes;  // in the order of Breakdown
  std::vector<WaveResidual> waves;    // one per device
  std::vector<BusyShares> busy;       // one per device
  /// Difference of the peaks of the device whose peaks lie furthest apart, signed; 0 without waves.
  double peak_share() const;
};

/// TimedWaves is a timeline and its waves, one per device of the program.
struct TimedWaves {
  const Timeline& timeline;
  const std::vector<MemoryWave>& waves;
};
/// recompute_share is as breakdown() takes it. Both timelines must be of the program.
TimelineComparison compare(const Program&, const TimedWaves& predicted, const TimedWaves& measured,
                           const std::vector<double>& recompute_share = {});

}  // namespace trainyard
