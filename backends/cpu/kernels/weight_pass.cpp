#include "backends/cpu/kernels/weight_pass.h"

#include <algorithm>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

bool weight_pass_reads_gradient(const Graph& graph, const Node& node, std::size_t input) {
  const TensorId in = node.inputs[input];
  if (!cpu_kernel(*node.op).reads_input_gradients || in == graph.input) return false;
  std::ptrdiff_t readers = 0;
  for (const Node& other : graph.nodes)
    readers += std::count(other.inputs.begin(), other.inputs.end(), in);
  return readers == 1;
}

}  // namespace trainyard
