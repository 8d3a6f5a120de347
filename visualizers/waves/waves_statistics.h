// The memory of waves over one period, in figures.
#pragma once

#include <string>
#include <vector>

#include "visualizers/waves/waves_model.h"

namespace trainyard {

/// The activations of each wave; then the sum of all with the model state. With more than one wave
/// also one of them alone with the model state, and all of them at once, aligned, with it.
std::vector<PeriodFigures> period_figures(const WavesModel&, const DeviceWaves&);

/// The model must have alternatives.
WavesWorth waves_worth(const WavesModel&, DeviceId);

/// The share of the device that one wave keeps busy while it trains alone at that rate, in tokens
/// or samples a second as results count; in (0, 1]. Waves that share the device gain at most the
/// inverse.
double busy_of_one_wave(const WavesModel&, DeviceId, double rate);

/// Sets the period of every device, and the worth where there are alternatives: once for a model
/// whose cards are drawn, so that no frame computes them.
void add_statistics(WavesModel&);

}  // namespace trainyard
