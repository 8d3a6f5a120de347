// Recomputation on a graph of ops: which results stay in memory and which are computed again, so
// that all ops run once at least, the last of them last, in the least time within a limit. The
// integer program of Checkmate (Jain et al., "Checkmate: Breaking the Memory Wall with Optimal
// Tensor Rematerialization", 2020): stage t ends with the first run of op t; R says what runs in
// it, S what is kept into it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "planners/recompute/op_graph.h"

namespace trainyard {

struct GraphSchedule {
  std::vector<GraphAction> actions;
  Duration time{};
  Bytes peak{};
  Duration relaxed{};    // what the linear program needs: no schedule is quicker
  Duration bound{};      // the best that is known of that kind: relaxed, or branch and bound's
  bool optimal = false;  // time is the least possible
  std::string found_by;  // "nothing dropped", "eviction", "rounding", "branch and bound"
  double gap() const {   // share of the time that a better schedule could save at most
    return time.count() > 0
               ? static_cast<double>((time - bound).count()) / static_cast<double>(time.count())
               : 0;
  }
};

struct GraphOptions {
  std::int64_t nodes = 20'000;  // of branch and bound; 0 = two phases only: the relaxed S is
                                // rounded, and R follows from it
  std::stop_token stop = {};    // looked at before each program that is solved
};
/// Throws Error{InvalidInput}: no ops, an input that is not before its op, a negative size, a limit
/// that no schedule keeps (proven, or none was found: the sentence says which, and what the least
/// found needs); Error{Cancelled} when stopped.
GraphSchedule best_graph_schedule(const OpGraph&, Bytes limit, const GraphOptions& = {});

}  // namespace trainyard
