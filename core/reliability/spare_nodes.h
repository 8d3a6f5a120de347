// Spare nodes take the place of those that fail until these are repaired. When more are away than
// there are spares, the job waits.
#pragma once

#include <cstdint>

namespace trainyard {

/// Share of time in which a job waits for a node, in [0, 1): nodes leave at `replaced_per_second`
/// while the job is there, each for a time of mean `repair` that may be distributed in any way.
/// That is Erlang's loss formula B(spares + 1, replaced_per_second * repair), since what would fail
/// during a wait does not (Erlang 1917). spares >= 0, repair in seconds.
double waiting_share(std::int64_t spares, double replaced_per_second, double repair);

/// The fewest spares with which a job waits for at most that share of time; share > 0. Takes time
/// as the nodes that are away at once, replaced_per_second * repair.
std::int64_t spares_for(double share, double replaced_per_second, double repair);

}  // namespace trainyard
