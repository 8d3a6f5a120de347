// What the schedules without a flush share: one lane a stage that keeps a number of microbatches
// between a forward and its backward, updates the weights every so often, and says on each action
// which version it reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/methods/method.h"

namespace trainyard {

/// An action's weight version has 15 bits.
inline constexpr std::int64_t kMostVersions = 32767;

/// A row of places goes through the stages, one forward and one backward long each: at place t a
/// stage does the forward that enters there, then the backward of the one `ahead` places before.
struct Flow {
  /// Of stage s; not negative, and on stage s at least what it is on stage s + 1.
  std::function<int(int stage)> ahead;
  int entering = 1, of_places = 1;  // microbatches enter at the first of so many places; not more
  int update_every = 1;             // microbatches; divides those of the run
  int flush_steps = 0;  // so many steps begin and end with nothing in flight, as under 1F1B
  int waves = 1;        // microbatch k belongs to wave k mod waves
  /// The version that the forward of microbatch k reads on a stage whose newest is `newest`; empty
  /// = the newest.
  std::function<int(int microbatch, int newest)> read = {};
  bool stash = true;  // the backward reads what its forward read; else the newest
};
/// Of a plain pipeline, stage s on device s, with shape.steps * shape.microbatches microbatches.
/// Throws Error{InvalidInput} where that takes more than kMostVersions.
Order flow_order(std::string_view method, const ScheduleShape&, const Flow&);

/// Throws Error{InvalidInput} where a run writes more than kMostVersions.
void expect_versions(std::string_view method, const ScheduleShape&, std::int64_t versions);

/// Method::settles for a first stage that is so many forwards ahead: the steps in which these go
/// round twice before the one in the middle, and as many after it.
int settled_after(const ScheduleShape&, int ahead);

/// What every method that updates between microbatches asks of a plan: one stage a device, and no
/// more versions than can be counted in one result; updates_per_step of them in a step.
Diagnostics check_asynchronous(std::string_view method, const Scenario&,
                               std::int64_t updates_per_step, std::int64_t steps);

}  // namespace trainyard
