// Finds an optimal order by branch and bound over what each device does next.
#pragma once

#include <stop_token>

#include "planners/schedules/pipeline.h"

namespace trainyard {

struct Exhausted {
  bool complete = false;       // no order is better than the incumbent or `lanes`
  std::optional<Lanes> lanes;  // better than the incumbent; empty if none was found
  std::int64_t nodes = 0;
};

/// Searches for orders whose objective is below `incumbent`. It stops at one that reaches `bound`
/// (which must be a lower bound) or after `nodes` nodes. It considers all lanes, including those
/// that leave a device idle although work is ready, except two kinds that never win: lanes in which
/// microbatches overtake one another (lanes_of() says why they are not needed; if spans are
/// minimised, a late start may shorten one, and the result is the best without overtaking), and
/// lanes with a gap that could hold a complete pass which frees memory, or any pass if there is no
/// limit. A partial order is also dropped if another with the same passes was no later in any
/// respect.
Exhausted exhaust(const Pipeline&, ScheduleObjective, Ticks incumbent, Ticks bound,
                  std::int64_t nodes, const std::stop_token&);

}  // namespace trainyard
