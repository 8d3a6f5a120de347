// An OpGraph is the ops of a step with what each takes, and GraphActions are what is done with
// them: results that are computed, perhaps more than once, and let go.
#pragma once

#include <span>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

struct GraphOp {
  Duration time{};
  Bytes bytes{};            // of its result
  std::vector<int> inputs;  // ops before it
};
/// Forward and backward ops of a step in an order in which each comes after its inputs.
struct OpGraph {
  std::vector<GraphOp> ops;
  Bytes always{};  // there beside the results
};
/// Throws Error{InvalidInput}: no ops, an input that is not before its op, a negative size.
void check_graph(const OpGraph&);

struct GraphAction {
  bool compute = true;  // else its result goes
  int op = 0;
  friend bool operator==(const GraphAction&, const GraphAction&) = default;
};
struct GraphRun {
  Duration time{};
  Bytes peak{};
};
/// Does them one by one. A result is there while its op runs. Throws Error{InvalidInput} naming the
/// action that finds an input or a result missing, or an op that never ran.
GraphRun run_graph(const OpGraph&, std::span<const GraphAction>);

}  // namespace trainyard
