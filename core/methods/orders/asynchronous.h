// This file has what schedules without a flush share: one lane per stage that keeps a number of
// microbatches between their forward and their backward, updates the weights at regular intervals,
// and marks each action with the weight version that it reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/methods/method.h"

namespace trainyard {

/// The weight version of an action has 15 bits.
inline constexpr std::int64_t kMostVersions = 32767;

/// A Flow is a sequence of places that passes through the stages, each as long as one forward and
/// one backward: at place t a stage runs the forward that enters there, then the backward of the
/// microbatch that entered `ahead` places earlier.
struct Flow {
  /// For stage s; not negative, and at least its value for stage s + 1.
  std::function<int(int stage)> ahead;
  int entering = 1, of_places = 1;  // of every `of_places` places the first `entering` take a
                                    // microbatch; entering <= of_places
  int update_every = 1;             // in microbatches; divides the microbatches of the run
  int flush_steps = 0;  // this many steps begin and end with nothing in flight, as under 1F1B
  int waves = 1;        // microbatch k belongs to wave k mod waves
  /// Returns the version that the forward of microbatch k reads on a stage whose newest version is
  /// `newest`; empty = the newest.
  std::function<int(int microbatch, int newest)> read = {};
  bool stash = true;  // the backward reads the version that its forward read; else the newest
};
/// Returns the order for a plain pipeline, stage s on device s, with shape.steps *
/// shape.microbatches microbatches. Throws Error{InvalidInput} where that takes more than
/// kMostVersions.
Order flow_order(std::string_view method, const ScheduleShape&, const Flow&);

/// Throws Error{InvalidInput} where a run writes more than kMostVersions versions.
void expect_versions(std::string_view method, const ScheduleShape&, std::int64_t versions);

/// Returns Method::settles for a first stage that is `ahead` forwards ahead: the steps in which
/// these pass twice before the step in the middle, and as many after it.
int settled_after(const ScheduleShape&, int ahead);

/// Returns what is wrong with a plan for a method that updates between microbatches: it must have
/// one stage per device, and no more versions than one result can count, with updates_per_step of
/// them per step.
Diagnostics check_asynchronous(std::string_view method, const Scenario&,
                               std::int64_t updates_per_step, std::int64_t steps);

}  // namespace trainyard
