// What parameters are before the first update: functions of seed, layer and tensor, the same
// however the model is divided and whichever backend trains it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/graph.h"
#include "core/training/training.h"

namespace trainyard {

/// Matrices and kernels are uniform in the root of a result's inputs, and wider where a ReLU takes
/// half of what they make (He et al., ICCV 2015), or signals would fade through many layers. Cores
/// of a tensor train begin as started_core() says. Norms are 1, biases 0. `layer` counts over all
/// blocks of the model, `graph` is that layer's, and the shape is that of the whole tensor. Seeds
/// are those of RandomSource::Weights and Noise.
std::vector<float> initial_weights(const Graph&, TensorId, std::span<const std::int64_t> shape,
                                   int layer, const Training&);

}  // namespace trainyard
