// Two timelines of one program held against each other, the predicted and the measured: by how much
// the step differs and what part of that each cause has, and how far the memory waves are apart.
#pragma once

#include <string_view>
#include <vector>

#include "core/timeline/metrics.h"
#include "core/timeline/residual_origin.h"

namespace trainyard {

/// What one kind of work took of a device's step. Differences of all causes sum to the difference
/// of the step exactly.
struct CauseResidual {
  std::string_view name;  // "forward", "pipeline", "bubble"
  Duration predicted{}, measured{};
  ResidualOrigin origin;  // where most of the difference lies
  Duration difference() const { return measured - predicted; }
};

/// The two waves of one device over one step.
struct WaveResidual {
  DeviceId device;
  Bytes predicted_peak{}, measured_peak{};
  CategoryBytes predicted_most{}, measured_most{};  // each category at its own most
  /// Largest distance of the two at the same share of their steps. Where bytes are taken and given
  /// back a little earlier or later, the distance there is all of these bytes.
  Bytes over_time{};
  /// Largest distance at the same point of the work: just after each computation of the device has
  /// begun and just before it ends. A step that is stretched in time is no error here.
  Bytes over_work{};
  /// As shares of the predicted peak, 0 where that is 0.
  double over_time_share() const { return of_peak(over_time); }
  double over_work_share() const { return of_peak(over_work); }
  double peak_share() const { return of_peak(measured_peak - predicted_peak); }  // signed

 private:
  double of_peak(Bytes bytes) const {
    return predicted_peak.value > 0 ? bytes / predicted_peak : 0;
  }
};

/// How much of its step a device works, [0, 1].
struct BusyShares {
  double predicted = 0, measured = 0;
};

struct TimelineComparison {
  Duration predicted_step{}, measured_step{};
  double predicted_bubble = 0, measured_bubble = 0;  // as bubble_fraction() has it
  /// Of the step: measured over predicted, minus 1; 0 where nothing was predicted.
  double step_share() const;
  DeviceId device;                    // the causes are of: the measured step's critical one
  std::vector<CauseResidual> causes;  // in the order of Breakdown
  std::vector<WaveResidual> waves;    // one a device
  std::vector<BusyShares> busy;       // one a device
  /// Of the device whose peaks lie furthest apart, signed; 0 without waves.
  double peak_share() const;
};

/// A timeline and its waves, one a device of the program.
struct TimedWaves {
  const Timeline& timeline;
  const std::vector<MemoryWave>& waves;
};
/// recompute_share: as breakdown() takes it. Both must be of the program.
TimelineComparison compare(const Program&, const TimedWaves& predicted, const TimedWaves& measured,
                           const std::vector<double>& recompute_share = {});

}  // namespace trainyard
