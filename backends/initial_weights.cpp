#include "backends/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"
#include "core/model/trained_tables.h"
#include "core/training/regrowth.h"

namespace trainyard {
namespace {

/// Returns whether a ReLU reads the product or convolution with that parameter, at once or after a
/// norm or the sum with an adapter.
bool is_before_relu(const Graph& graph, TensorId parameter) {
  const auto reads = [](const Node& node, TensorId tensor) {
    return std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end();
  };
  for (const Node& product : graph.nodes) {
    if (product.inputs.size() < 2 || product.inputs[1] != parameter) continue;
    TensorId made = product.outputs[0];
    for (const Node& node : graph.nodes) {  // in the order in which they run
      if (!reads(node, made)) continue;
      if (node.op == &relu()) return true;
      const bool adapted = node.op == &add() && is_adapter(node);
      if ((node.op == &batch_norm() || adapted) && node.inputs[0] == made) made = node.outputs[0];
    }
  }
  return false;
}

// Values are uniform in this size, to both sides of zero.
double size_of(const Graph& graph, TensorId parameter, double inputs) {
  return std::sqrt((is_before_relu(graph, parameter) ? 6.0 : 1.0) / inputs);
}
float number(double size, const Random& random, std::int64_t element) {
  return static_cast<float>(size * (2 * random.uniform(static_cast<std::uint64_t>(element)) - 1));
}

// Stored weights begin as they would in the dense matrix, but for their size: a result has only the
// stored share of its inputs.
std::vector<float> stored_weights(const Graph& graph, const SparseWeight& weight,
                                  std::span<const float> pattern, const Random& random) {
  const SparseShape& shape = weight.shape;
  const double size =
      size_of(graph, weight.values, static_cast<double>(weight.inputs) * shape.density());
  std::vector<float> values;
  for (const std::int64_t place : places_of(shape, pattern))
    for (std::int64_t i = 0; i < shape.block; ++i)
      values.push_back(number(size, random, place * shape.block + i));
  values.resize(static_cast<std::size_t>(shape.room()));
  return values;
}

std::vector<float> drawn(const Graph& graph, TensorId tensor, std::span<const std::int64_t> shape,
                         const Random& random) {
  std::int64_t elements = 1;
  for (std::int64_t d : shape) elements *= d;
  std::vector<float> values(static_cast<std::size_t>(elements));
  if (begins_at_zero(graph, tensor)) return values;
  if (const Node* const train = train_of_core(graph, tensor))
    return started_core(tensor_train_of(graph, *train), train_start_of(*train), values.size(),
                        random);
  if (shape.size() < 2) {
    const bool bias = graph[tensor].name.ends_with("bias");
    std::fill(values.begin(), values.end(), bias ? 0.0f : 1.0f);
    return values;
  }
  const std::int64_t inputs =
      shape.size() == 4 ? shape[1] * shape[2] * shape[3] : shape[shape.size() - 2];
  const double size = size_of(graph, tensor, static_cast<double>(inputs));
  for (std::int64_t e = 0; e < elements; ++e)
    values[static_cast<std::size_t>(e)] = number(size, random, e);
  return values;
}

}  // namespace

std::vector<float> initial_weights(const Graph& graph, TensorId tensor,
                                   std::span<const std::int64_t> shape, int layer,
                                   const Training& training) {
  const std::uint64_t stream = (static_cast<std::uint64_t>(layer) << 16) + tensor.value;
  const std::uint64_t seed = seed_of(training, RandomSource::Weights);
  const Random random(seed, stream);
  std::vector<float> values;
  if (const auto sparse = sparse_weight_of(graph, tensor)) {
    std::vector<float> pattern = first_pattern(*sparse, seed, layer);
    if (sparse->pattern == tensor) return pattern;
    values = stored_weights(graph, *sparse, pattern, random);
  } else {
    values = drawn(graph, tensor, shape, random);
  }
  const auto& noise = training.seeds[static_cast<std::size_t>(RandomSource::Noise)];
  if (!noise) return values;
  const Random noises(*noise, stream);
  for (std::size_t e = 0; e < values.size(); ++e)
    if (values[e] != 0)
      values[e] = std::nextafter(values[e], noises.bits(e) % 2 == 0 ? -HUGE_VALF : HUGE_VALF);
  return values;
}

}  // namespace trainyard
