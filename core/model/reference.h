// The maths of every op in plain loops and double precision: what any fast kernel must agree with.
// A backward is two functions, of the inputs and of the parameters, because schedules run them at
// different times; each may read only what the op's saved() says it keeps, and parameters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/model/graph.h"

namespace trainyard {

/// Numbers in row-major order. Indices (token ids, labels) are whole numbers.
struct HostTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  /// Scores of experts and copies of tokens: the expert of each score or copy, in order. Empty for
  /// every other tensor.
  std::vector<std::int32_t> experts = {};
};
HostTensor zeros(std::vector<std::int64_t> shape);
/// What one device holds of the tensor.
std::vector<std::int64_t> local_shape(const Tensor&, const Binding&);

/// What an op keeps beside tensors of the graph; named as in its saved().
struct KeptFact {
  std::string_view what;
  HostTensor tensor;
};

struct ReferenceResult {
  std::vector<HostTensor> outputs;
  std::vector<KeptFact> kept = {};
};

/// One op of one microbatch. Spans are by position in the node; null = not there.
struct ReferenceCall {
  const Graph& graph;
  const Node& node;
  const Binding& binding;
  Random random{0};  // dropout masks; the same whenever the op runs again for its microbatch
  std::span<const HostTensor* const> inputs = {};
  std::span<const HostTensor* const> outputs = {};    // backward
  std::span<const HostTensor* const> gradients = {};  // backward: of the outputs
  std::span<const KeptFact> kept = {};                // backward
  bool flash_attention = true;

  /// Each throws Error{Internal} naming op and tensor when it is not there.
  const HostTensor& input(std::size_t) const;
  const HostTensor& output(std::size_t) const;
  const HostTensor& gradient(std::size_t) const;
  const HostTensor& fact(std::string_view what) const;
};

struct Reference {
  ReferenceResult (*forward)(const ReferenceCall&);
  /// Gradients by input, empty where an input has none here. Null: no input has one.
  std::vector<HostTensor> (*backward_input)(const ReferenceCall&) = nullptr;
  std::vector<HostTensor> (*backward_weight)(const ReferenceCall&) = nullptr;
};

/// Of an op of ops().
const Reference& reference(const Op&);

/// Share of elements that dropout zeroes, the same in every model; the others grow by 1 / (1 - it).
inline constexpr double kDropout = 0.1;

}  // namespace trainyard
