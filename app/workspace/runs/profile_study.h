// Profiles a training on this machine, as often as it takes to know what the profile itself costs
// (core/timeline/span_profile.h).
#pragma once

#include <cstdint>
#include <string>

#include "core/plan/plan.h"
#include "core/timeline/span_profile.h"
#include "core/training/training.h"

namespace trainyard {

struct ProfileQuestion {
  Scenario scenario;       // on devices of this machine; the plan may be incomplete
  Training training = {};  // its steps are those of every run
  std::string data = {};   // of data_sources(); empty = what the model's family is trained on
  Duration window = std::chrono::milliseconds(1);  // of sampled utilisation
  SpanLevels levels = SpanLevels::all(), calibrated = SpanLevels::all();
  int rounds = 5;
  std::stop_token stop = {};                  // ends after a whole round
  std::function<void(double)> progress = {};  // called with the share done, in [0, 1]
};

/// Returns the question about a learner of the cart-pole by policy gradient
/// (core/training/data/cart_pole_policy.h) on one core, with a rate and batches that it learns by.
ProfileQuestion cart_pole_question(std::int64_t updates);

/// Blocks. Every run trains by the wall clock from the initial weights. Where the data are
/// "cart-pole-policy", the policy acts by the kernels that train it. Throws Error{InvalidInput}
/// where the training cannot run here or profile_spans() refuses, Error{Cancelled} when stopped in
/// the first round.
ProfileStudy profile_study(const ProfileQuestion&);

}  // namespace trainyard
