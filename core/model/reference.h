// This file has the maths of every op in plain loops and double precision, with which every fast
// kernel must agree. A backward is two functions, for the gradients of the inputs and of the
// parameters, because schedules run them at different times; each may read only parameters and what
// the op's saved() lists.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/model/document_bounds.h"
#include "core/model/graph.h"

namespace trainyard {

/// A HostTensor holds numbers in row-major order. Indices (token ids, labels) are whole numbers.
struct HostTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  /// For scores of experts and copies of tokens, the expert of each score or copy, in order. Empty
  /// for every other tensor.
  std::vector<std::int32_t> experts = {};
};
HostTensor zeros(std::vector<std::int64_t> shape);
/// Returns the part of the tensor's shape that one device holds.
std::vector<std::int64_t> local_shape(const Tensor&, const Binding&);

/// A KeptFact is what an op keeps beside tensors of the graph; it has the same name as in the op's
/// saved().
struct KeptFact {
  std::string_view what;
  HostTensor tensor;
};

struct ReferenceResult {
  std::vector<HostTensor> outputs;
  std::vector<KeptFact> kept = {};
};

/// A ReferenceCall is one op applied to one microbatch. Spans are indexed by position in the node;
/// null = not given.
struct ReferenceCall {
  const Graph& graph;
  const Node& node;
  const Binding& binding;
  Random random{0};  // draws dropout masks; equal whenever the op runs again for the same
                     // microbatch
  std::span<const HostTensor* const> inputs = {};
  std::span<const HostTensor* const> outputs = {};    // for backward
  std::span<const HostTensor* const> gradients = {};  // for backward: gradients of the outputs
  std::span<const KeptFact> kept = {};                // for backward
  bool flash_attention = true;
  const DocumentBounds* documents = nullptr;  // of the microbatch; null: a sample is one text

  /// Each throws Error{Internal} naming op and tensor when the value is not given.
  const HostTensor& input(std::size_t) const;
  const HostTensor& output(std::size_t) const;
  const HostTensor& gradient(std::size_t) const;
  const HostTensor& fact(std::string_view what) const;
};

struct Reference {
  ReferenceResult (*forward)(const ReferenceCall&);
  /// Both return gradients by input, empty for an input that has no gradient in this pass. A null
  /// function means that no input has one.
  std::vector<HostTensor> (*backward_input)(const ReferenceCall&) = nullptr;
  std::vector<HostTensor> (*backward_weight)(const ReferenceCall&) = nullptr;
};

/// Returns the reference of an op of ops().
const Reference& reference(const Op&);

/// Share of elements that dropout zeroes, the same in every model; the others are multiplied by 1 /
/// (1 - kDropout).
inline constexpr double kDropout = 0.1;

/// Norms add this to a variance, or to the mean of squares, before they take its root.
inline constexpr double kNormEpsilon = 1e-5;

}  // namespace trainyard
