// Finds how sharp the loss of a model is on some of its data: at the weights a run begins with, or
// after some training, on the samples of the first update. What it says of rates follows
// (core/training/sharpness.h, core/result/stable_rate.h).
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "core/plan/plan.h"
#include "core/training/sharpness.h"
#include "core/training/training.h"

namespace trainyard {

struct SharpnessQuestion {
  Scenario scenario;            // on devices of this machine; its plan trains
  Training training;            // its steps are made before; its rate is what is judged
  std::int64_t steps = 0;       // made before; 0 = at the initial weights
  std::string data = {};        // of data_sources(); empty = what the model's family is trained on
  std::string start_from = {};  // a checkpoint of weights; empty = none
  SharpnessOptions options = {};
  int points = 10;  // of the slice, on each side; 0 = no slice
  std::stop_token stop = {};
};

struct SharpnessAnswer {
  std::string model, data, optimizer;
  std::int64_t parameters = 0, batch = 0, steps = 0;
  double rate = 0, momentum = 0;  // of the training, for its batch
  Sharpness sharpness;
  LossSlice slice;

  /// Returns the largest rate at which plain descent is stable with gradients so many updates old;
  /// nothing bounds it where the loss is nowhere convex.
  std::optional<double> stable_rate(double delay) const;
  /// Returns the largest stable rate of momentum: 2 (1 + momentum) / sharpness.
  std::optional<double> stable_rate_of_momentum() const;
  /// Returns the batch up to which the training's rate can grow in proportion to it and stay below
  /// stable_rate(0).
  std::optional<double> largest_batch() const;
};

/// Blocks. Gradients are those of one update by plain descent on one core, in 4-byte numbers.
/// Throws as TrainingJob does.
SharpnessAnswer sharpness_study(SharpnessQuestion);

}  // namespace trainyard
