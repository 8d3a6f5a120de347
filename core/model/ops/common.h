// This file holds what the op files share: refusing inputs that do not fit, and the usual shapes of
// work.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/model/op.h"

namespace trainyard {

[[noreturn]] inline void refuse(const Node& node, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput,
              node.name + " (" + std::string(node.op->name) + "): " + sentence);
}

inline const Tensor& input(const Graph& graph, const Node& node, std::size_t i) {
  return graph[node.inputs[i]];
}

inline void expect_inputs(const Node& node, std::size_t least, std::size_t most) {
  const std::size_t found = node.inputs.size();
  if (found >= least && found <= most) return;
  const std::string range =
      least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  refuse(node, "expected " + range + " inputs, found " + std::to_string(found));
}

inline void expect_rank(const Graph& graph, const Node& node, std::size_t i, std::size_t rank) {
  const Shape& shape = input(graph, node, i).shape;
  if (shape.size() != rank)
    refuse(node, "expected input " + std::to_string(i) + " with " + std::to_string(rank) +
                     " dimensions, found " + to_text(shape));
}

/// Throws unless input i is a vector of that many elements (a bias, a norm's weight).
inline void expect_vector(const Graph& graph, const Node& node, std::size_t i, std::int64_t size) {
  const Shape& shape = input(graph, node, i).shape;
  if (shape.size() != 1 || shape[0].size != size)
    refuse(node, "expected input " + std::to_string(i) + " of shape [" + std::to_string(size) +
                     "], found " + to_text(shape));
}

/// Windows over rows that ranks divide make rows that they divide too.
inline Axis rows_of_windows(const Dim& rows) {
  return rows.axis == Axis::HaloRows ? Axis::Rows : rows.axis;
}

inline Dim last(const Tensor& tensor) {
  return tensor.shape.empty() ? Dim{1, Axis::None, 0} : tensor.shape.back();
}

inline std::vector<Tensor> one_output(Shape shape, TensorKind kind = TensorKind::Activation) {
  return {Tensor{"", std::move(shape), kind, ""}};
}

/// Returns a product that saturates at 2^56, so that adding several byte counts made from it cannot
/// overflow.
inline std::int64_t product(std::initializer_list<std::int64_t> sizes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  std::int64_t result = 1;
  for (std::int64_t size : sizes)
    if (__builtin_mul_overflow(result, size, &result) || result > kMost) return kMost;
  return result;
}

/// Returns all dimensions but the last of what a product with a weight makes of x: a Column split
/// gathers x into the tensor region, a Row split leaves the region.
inline Shape rows_of_product(const Node& node, Shape shape) {
  shape.pop_back();
  for (Dim& dim : shape) {
    if (node.split == TensorSplit::Column && dim.axis == Axis::SequenceRegion)
      dim.axis = Axis::Sequence;
    if (node.split == TensorSplit::Row && dim.axis == Axis::Sequence)
      dim.axis = Axis::SequenceRegion;
  }
  return shape;
}

/// Returns the product of all dimensions but the last, per device.
inline std::int64_t rows(const Tensor& tensor, const Binding& binding) {
  Shape leading = tensor.shape;
  if (!leading.empty()) leading.pop_back();
  return local_elements(leading, binding);
}

inline Work memory_work(double flops, Bytes read, Bytes written,
                        WorkKind kind = WorkKind::Elementwise) {
  Work work;
  work.flops = {flops};
  work.read = read;
  work.written = written;
  work.kind = kind;
  return work;
}

/// Returns the work of `count` products of m x k by k x n.
inline Work product_work(const Precision& precision, std::int64_t m, std::int64_t n, std::int64_t k,
                         std::int64_t count, Bytes read, Bytes written) {
  Work work;
  work.flops = {2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                static_cast<double>(count)};
  work.read = read;
  work.written = written;
  work.kind = WorkKind::Product;
  work.math = precision.math;
  work.m = m;
  work.n = n;
  work.k = k;
  work.count = count;
  return work;
}

/// Returns the bytes in which a parameter's gradient is accumulated.
inline Bytes gradient_bytes(const LocalNode& local, const Tensor& parameter) {
  return Bytes{bytes_of(local.precision.gradient)} * local.elements(parameter);
}

inline Saved saved_tensor(TensorId id, bool for_weight = false) {
  return {id, {}, {}, for_weight, false};
}
/// Returns what only the gradient of the weights needs: the input of a product.
inline Saved saved_for_weights(TensorId id) { return {id, {}, {}, true, false, false}; }
inline Saved saved_bytes(std::string_view what, Bytes bytes, bool for_weight = false,
                         bool attention_core = false) {
  return {TensorId{}, what, bytes, for_weight, attention_core};
}

/// Row statistics, kept by norms, losses and fused attention, take four bytes each in any
/// precision.
constexpr std::string_view kStatistics = "statistics";

}  // namespace trainyard
