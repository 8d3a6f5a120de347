#include "planners/recompute/op_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/error.h"
#include "planners/index.h"

namespace trainyard {

void check_graph(const OpGraph& graph) {
  if (graph.ops.empty()) refuse("expected a graph of at least one op, found none");
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const GraphOp& op = graph.ops[i];
    if (op.time.count() < 0 || op.bytes.value < 0)
      refuse(fmt::format("expected times and bytes of at least 0, found less in op {}", i));
    for (const int in : op.inputs)
      if (in < 0 || at(in) >= i)
        refuse(fmt::format("expected inputs of op {} among the ops before it, found {}", i, in));
  }
}

GraphRun run_graph(const OpGraph& graph, std::span<const GraphAction> actions) {
  check_graph(graph);
  GraphRun run;
  Bytes held = graph.always;
  run.peak = held;
  std::vector<char> there(graph.ops.size(), 0), ever = there;
  for (std::size_t a = 0; a < actions.size(); ++a) {
    const auto refuse = [&](std::string_view expected) {
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("action {} of op {}: expected {}", a, actions[a].op, expected));
    };
    if (actions[a].op < 0 || at(actions[a].op) >= graph.ops.size()) refuse("an op of the graph");
    const GraphOp& op = graph.ops[at(actions[a].op)];
    char& here = there[at(actions[a].op)];
    if (!actions[a].compute) {
      if (here == 0) refuse("its result");
      here = 0, held -= op.bytes;
      continue;
    }
    for (const int in : op.inputs)
      if (there[at(in)] == 0) refuse(fmt::format("the result of op {}", in));
    if (here == 0) held += op.bytes;
    here = ever[at(actions[a].op)] = 1;
    run.time += op.time;
    run.peak = std::max(run.peak, held);
  }
  if (const auto never = std::find(ever.begin(), ever.end(), 0); never != ever.end())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected every op to run, found none of op {}", never - ever.begin()));
  return run;
}

}  // namespace trainyard
