#include "core/methods/layers/weight_pass.h"

#include <algorithm>

#include "core/model/ops.h"

namespace trainyard {

bool weight_pass_reads_gradient(const Graph& graph, const Node& node, std::size_t input) {
  const TensorId in = node.inputs[input];
  if (node.op != &lstm() || in == graph.input) return false;
  std::ptrdiff_t readers = 0;
  for (const Node& other : graph.nodes)
    readers += std::count(other.inputs.begin(), other.inputs.end(), in);
  return readers == 1;
}

}  // namespace trainyard
