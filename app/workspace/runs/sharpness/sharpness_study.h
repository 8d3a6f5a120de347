// Finds how sharp the loss of a model is on some of its data: at the weights a run begins with, or
// after some training, on the samples of the first update. Which rates that leaves stable follows
// (core/training/sharpness.h, core/result/stable_rate.h); of an asynchronous plan also for each of
// its stages, by the age of its own gradients (core/methods/precision/update_stability.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/training/sharpness.h"
#include "core/training/training.h"

namespace trainyard {

struct SharpnessQuestion {
  Scenario scenario;            // its plan trains, on devices of this machine
  Training training;            // its steps are made before; its rate is what is judged
  std::int64_t steps = 0;       // made before; 0 = at the initial weights
  std::string data = {};        // of data_sources(); empty = what the model's family is trained on
  std::string start_from = {};  // a checkpoint of weights; empty = none
  SharpnessOptions options = {};
  int points = 10;  // of the slice, on each side; 0 = no slice
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // called with the share that is done, in [0, 1]
};

/// The rates that old gradients leave stable on one stage of an asynchronous plan.
struct StageRates {
  std::int64_t stage = 0;
  double delay = 0;         // of its gradients, in updates; mean over the microbatches of an update
  std::int64_t oldest = 0;  // the largest delay of a microbatch
  std::optional<double> plain;  // plain descent with gradients of the mean delay
  std::optional<double> own;    // the plan's own updates, with momentum and the corrections of its
                                // schedule, and gradients of the largest delay
  double first_rate = 0;        // the rate of its first update, where the schedule lowers it
};

/// Ages of gradients, in updates, that are judged whatever the plan's own are.
inline constexpr double kJudgedDelays[] = {1, 2, 5, 10};

struct SharpnessAnswer {
  std::string model, data, optimizer;
  std::int64_t parameters = 0, batch = 0, steps = 0;
  double rate = 0, momentum = 0;  // of the training, for its batch
  Sharpness sharpness;
  LossSlice slice;
  std::string schedule = {};            // of an asynchronous plan; else empty
  std::vector<StageRates> stages = {};  // of an asynchronous plan; else empty
  bool consistent = true;               // every backward reads the weights that its forward read

  /// Returns whether a positive curvature was found; without one nothing bounds a rate.
  bool bounds_rates() const;
  /// Returns the largest rate at which plain descent is stable with gradients so many updates old.
  std::optional<double> stable_rate(double delay) const;
  /// Returns the largest stable rate of momentum: 2 (1 + momentum) / sharpness.
  std::optional<double> stable_rate_of_momentum() const;
  /// Returns the stage that leaves the plan's own updates the least room; null where the plan is
  /// not asynchronous, or nothing bounds its rate.
  const StageRates* strictest_stage() const;
  /// Returns the largest stable rate of the plan's own updates: that of its strictest stage, else
  /// that of momentum, which without momentum is that of plain descent.
  std::optional<double> own_stable_rate() const;
  /// Returns whether the plan's optimizer is one that these bounds are of: plain descent or
  /// momentum.
  bool bounds_its_optimizer() const;
  /// Returns the batch up to which the training's rate can grow in proportion to it and stay below
  /// own_stable_rate().
  std::optional<double> largest_batch() const;
};

/// Blocks. Gradients are those of one update by plain descent on one core, in 4-byte numbers. A
/// scenario on another cluster is put on this machine as on_this_machine() does. Throws as
/// TrainingJob does, Error{InvalidInput} where a gradient of the whole model does not fit on one
/// core with the memory of all devices, and Error{Cancelled} when stopped before any curvature was
/// found; stopped later, it returns what it has.
SharpnessAnswer sharpness_study(SharpnessQuestion);

}  // namespace trainyard
