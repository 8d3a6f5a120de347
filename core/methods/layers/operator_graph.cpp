#include "core/methods/layers/operator_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"

namespace trainyard {

void check_operators(const OperatorGraph& graph) {
  if (graph.operators.empty())
    throw Error(Error::Kind::InvalidInput, "expected operators, found none");
  for (std::size_t i = 0; i < graph.operators.size(); ++i)
    for (const int before : graph.operators[i].after)
      if (before < 0 || static_cast<std::size_t>(before) >= i)
        throw Error(Error::Kind::InvalidInput,
                    fmt::format("operator {} ({}) waits for operator {}, expected one before it", i,
                                graph.operators[i].name, before));
  for (const OperatorMerge& merge : graph.merges)
    if (merge.operators.size() < 2 ||
        !std::is_sorted(merge.operators.begin(), merge.operators.end()) ||
        merge.operators.front() < 0 ||
        static_cast<std::size_t>(merge.operators.back()) >= graph.operators.size())
      throw Error(
          Error::Kind::InvalidInput,
          fmt::format("expected {} to merge two or more of the operators 0 to {}, ascending",
                      merge.name, graph.operators.size() - 1));
}

}  // namespace trainyard
