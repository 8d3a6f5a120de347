// The outputs of a model by the CPU backend's kernels, outside any run: what an agent acts by that
// the backend trains.
#pragma once

#include "core/training/data/cart_pole_policy.h"

namespace trainyard {

/// Returns what computes the outputs of the model, without its loss, for so many samples at once in
/// 4-byte floats on the calling thread. The model must outlive it, have only products, their biases
/// and activations without anything that is kept for a backward pass, and end in one loss; the
/// parameters must be all of it. Its ops and kernels are recorded spans.
BatchOutputs model_outputs(const Model&, const std::vector<TrainedTensor>&, std::int64_t samples);

}  // namespace trainyard
