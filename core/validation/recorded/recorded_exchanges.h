// This file makes times of collectives by kind, group and size of what a profiler stated of its
// kernels of communication.
//
// A collective takes as long on a rank as that rank waits for the last one of its group, and then
// until the data have passed. The last one waits for nobody, so that the shortest time that the
// ranks of a group have of one collective is closest to what the links take.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/cost/calibrated.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// RecordedExchange is one size of one kind of collective.
struct RecordedExchange {
  ExchangeTiming timing;  // median over repeats of the shortest time of the ranks that were
                          // recorded
  double calls = 0;       // in a step of one process
  bool waits = false;     // the time includes waiting: not all ranks were recorded, or they do not
                          // agree on what they exchanged
  std::vector<const RecordedCollective*> last;  // of the rank that waited least, for each repeat
                                                // of which all ranks were recorded
};

struct RecordedExchanges {
  std::vector<RecordedExchange> list;  // by kind, ranks, ranks in a node and bytes
  std::vector<std::string> unseen;     // sentences: communication that no price is made of, and why
};

/// Reads the steps that recorded_units() reads. The collectives of one group in one step are
/// matched over its ranks by their order. `per_node` is how many devices a node has, of which a
/// group's ranks say how many of them share one; those within a node and those across nodes are
/// apart. Where ranks are not stated, neither is it. `time` says what one took on one rank; null:
/// its whole length.
RecordedExchanges recorded_exchanges(
    const RecordedTrace&, std::int64_t per_node,
    const std::function<Duration(const RecordedCollective&)>& time = {});

}  // namespace trainyard
