// The memory of waves over one period, in figures.
#pragma once

#include <string>
#include <vector>

#include "visualizers/waves/waves_model.h"

namespace trainyard {

/// What a part of a device's memory is over one cycle of its first wave, in bytes.
struct PeriodFigures {
  std::string name;  // "tick", "sum"
  std::int64_t low = 0, peak = 0;
  double mean = 0;  // over time
  double mean_share() const { return peak > 0 ? mean / static_cast<double>(peak) : 0; }
};

/// The activations of each wave; then the sum of all with the model state. With more than one wave
/// also one of them alone with the model state, and all of them at once, aligned, with it.
std::vector<PeriodFigures> period_figures(const WavesModel&, const DeviceWaves&);

/// Whether waves that share a device are worth it, held against what else it could do.
struct WavesWorth {
  std::size_t best = 0;  // index of the fastest alternative that fits
  bool any = false;      // whether there is one
  double gain = 0;       // this plan's rate over the best one's; 0 where there is none
  double busy = 1;       // of the device, by one wave alone
  std::string verdict;   // "Worth it while the same loss takes less than 1.08 × the tokens."
  std::string limit;     // how much sharing can gain at most, in words
};
/// The model must have alternatives.
WavesWorth waves_worth(const WavesModel&, DeviceId);

/// The share of the device that one wave keeps busy while it trains alone at that rate, in tokens
/// or samples a second as results count; in (0, 1]. Waves that share the device gain at most the
/// inverse.
double busy_of_one_wave(const WavesModel&, DeviceId, double rate);

}  // namespace trainyard
