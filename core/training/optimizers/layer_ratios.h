// Ratios that a step has for each layer of the model: how orthogonal the updates of its replicas
// were (core/training/adasum.h), or how much of the energy of its gradients was sent
// (core/training/compression.h). A layer without one has 0.
#pragma once

#include <span>
#include <vector>

namespace trainyard {

/// The mean over the layers that have a ratio; 0 where none has.
double mean_ratio(std::span<const double> layers);
/// The mean of that over the last tenth of the steps, at least one; 0 where no layer has a ratio.
double last_ratio(std::span<const std::vector<double>> by_step);

}  // namespace trainyard
