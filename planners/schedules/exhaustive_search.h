// The best order there is, by branch and bound over what each device does next.
#pragma once

#include <stop_token>

#include "planners/schedules/pipeline.h"

namespace trainyard {

struct Exhausted {
  bool complete = false;       // nothing better than the incumbent or `lanes` exists
  std::optional<Lanes> lanes;  // better than the incumbent; nothing where none was found
  std::int64_t nodes = 0;
};

/// Looks for orders whose objective is below `incumbent`, and stops at one that reaches `bound`
/// (which must be a lower bound) or after that many nodes. All lanes are in its reach, also those
/// that leave a device idle beside ready work, but for two kinds that never win:
/// - microbatches that overtake one another (lanes_of says why they need not; where spans are
///   minimised, a late start may shorten one, and the result is the best without overtaking);
/// - a gap into which a pass that frees memory, or any where there is no limit, fits whole.
/// A partial order is dropped, too, when another of the same passes was no later in anything.
Exhausted exhaust(const Pipeline&, ScheduleObjective, Ticks incumbent, Ticks bound,
                  std::int64_t nodes, const std::stop_token&);

}  // namespace trainyard
