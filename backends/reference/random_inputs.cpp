#include "backends/reference/random_inputs.h"

#include <algorithm>
#include <cmath>

#include "core/model/ops.h"

namespace trainyard {
namespace {

// Rows of a table or classes of a loss: what an index may be below. 0 = nothing reads it.
std::int64_t index_limit(const Graph& graph, TensorId tensor) {
  for (const Node& node : graph.nodes) {
    if (const auto rows = table_rows(graph, node); rows && node.inputs[0] == tensor)
      return rows->size;
    if (node.op->name == "softmax_loss" && node.inputs[1] == tensor)
      return std::max<std::int64_t>(2, graph[node.inputs[0]].shape.back().size);
  }
  return 0;
}

}  // namespace

HostTensor random_data(const ReferenceInput& in, std::uint64_t seed) {
  HostTensor made = zeros(in.shape);
  const Random random(seed, (static_cast<std::uint64_t>(in.microbatch) << 16) + in.tensor.value);
  const std::int64_t limit = index_limit(in.graph, in.tensor);
  for (std::size_t e = 0; e < made.values.size(); ++e)
    made.values[e] = limit > 0 ? static_cast<double>(random.between(e, 0, limit - 1))
                               : 2 * random.uniform(e) - 1;
  return made;
}

void random_weights(HostTensor& tensor, const std::string& name, const Random& random) {
  const bool vector = tensor.shape.size() < 2, bias = name.ends_with("bias");
  std::int64_t inputs = 1;
  if (tensor.shape.size() == 4)
    inputs = tensor.shape[1] * tensor.shape[2] * tensor.shape[3];
  else if (!vector)
    inputs = tensor.shape[tensor.shape.size() - 2];
  const double size = vector ? 0.1 : 1 / std::sqrt(static_cast<double>(inputs));
  for (std::size_t e = 0; e < tensor.values.size(); ++e)
    tensor.values[e] = (vector && !bias ? 1.0 : 0.0) + size * (2 * random.uniform(e) - 1);
}

}  // namespace trainyard
