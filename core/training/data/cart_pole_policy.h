// Learning by policy gradient on the cart-pole (cart_pole.h): the model's outputs are the logits of
// the two pushes, and each update follows episodes that were played with the newest parameters.
//   Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement
//   Learning", Machine Learning 1992 (REINFORCE).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/training/data_source.h"

namespace trainyard {

/// Computes the outputs of a model for a batch of samples, a row of inputs and of outputs each. The
/// result stays valid until the next call.
using BatchOutputs = std::function<std::span<const float>(std::span<const float>)>;
/// Makes that of a model with these parameters, for batches of so many samples.
using MakeBatchOutputs =
    std::function<BatchOutputs(const Model&, const std::vector<TrainedTensor>&, std::int64_t)>;

struct PolicyOptions {
  MakeBatchOutputs outputs = {};  // by which the policy acts; empty = one sample after another
  /// Called after the episodes before each update with their mean length; may be empty.
  std::function<void(double)> played = {};
};

/// Opens it. Its spans are "environment" and "inference" (core/timeline/span_recorder.h).
std::unique_ptr<DataSource> cart_pole_policy(std::uint64_t seed, PolicyOptions = {});

}  // namespace trainyard
