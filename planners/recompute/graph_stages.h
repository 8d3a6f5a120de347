// Checkmate's two tables of a schedule, and what follows from them: S, what is kept into each
// stage, leaves one best R, what runs in it.
#pragma once

#include <vector>

#include "planners/recompute/op_graph.h"

namespace trainyard {

/// By stage and op: [t * ops + i].
using StageTable = std::vector<char>;

struct GraphStages {
  StageTable runs, kept;  // R and S: op i runs in stage t, its result is there when t begins
};

/// The least R for that S: what each stage must run for its own op and for what the next one keeps.
GraphStages with_least_runs(const OpGraph&, StageTable kept);
/// The actions, each result gone as soon as its stage has no more use for it.
std::vector<GraphAction> actions_of(const OpGraph&, const GraphStages&);
/// Everything is kept until its last use.
StageTable keep_all(const OpGraph&);
/// From `kept`, as much as lets the schedule fit is not kept any more: whatever costs least time a
/// byte at the moment of the peak goes first. May end above the limit, where nothing is left to
/// drop.
StageTable evict(const OpGraph&, StageTable kept, Bytes limit);

}  // namespace trainyard
