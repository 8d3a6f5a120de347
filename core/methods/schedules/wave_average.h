// The mean that waves with weights of their own take of each other's weights (tick-tock,
// sync=local).
#pragma once

#include "core/plan/plan.h"

namespace trainyard {

/// Local SGD of `waves` waves on one device: Stich, "Local SGD Converges Fast and Communicates
/// Little", ICLR 2019.
struct WaveAverage {
  int every = 0;  // cycles from one mean to the next; 0: waves have no weights of their own
  int waves = 1;
  /// Returns whether the update that writes a weight version goes on to replace what it has written
  /// by the mean over all waves, each with its newest weights.
  bool follows(int version) const { return every > 0 && version > 0 && version % every == 0; }
};
WaveAverage wave_average(const Plan&);

}  // namespace trainyard
