// These ops are layer norm, RMS norm and batch norm. All are bound by memory bandwidth and keep
// their input and its statistics.
#include <algorithm>

#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

// This is a norm over the last dimension, or over each head of it when the weight is one head wide.
std::vector<Tensor> infer_last(const Graph& graph, const Node& node, std::size_t most) {
  expect_inputs(node, 2, most);
  const Tensor& x = input(graph, node, 0);
  if (x.shape.empty())
    refuse(node, "expected an input with at least one dimension, found " + to_text(x.shape));
  const Dim width = last(x);
  const Shape& weight = input(graph, node, 1).shape;
  const bool by_head =
      width.units > 0 && weight.size() == 1 && weight[0].size == width.size / width.units;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    expect_vector(graph, node, i, by_head ? weight[0].size : width.size);
  return one_output(x.shape);
}

std::vector<Tensor> infer_layer(const Graph& graph, const Node& node) {
  return infer_last(graph, node, 3);
}
std::vector<Tensor> infer_rms(const Graph& graph, const Node& node) {
  return infer_last(graph, node, 2);
}

std::vector<Tensor> infer_batch(const Graph& graph, const Node& node) {
  expect_inputs(node, 3, 3);
  expect_rank(graph, node, 0, 4);
  const Tensor& x = input(graph, node, 0);
  for (std::size_t i : {1u, 2u}) expect_vector(graph, node, i, x.shape[1].size);
  return one_output(x.shape);
}

template <int kFlops>
Work norms_work(const LocalNode& local, Pass pass) {
  const Bytes x = local.bytes(local.input(0));
  const double flops = kFlops * static_cast<double>(local.elements(local.input(0)));
  Bytes parameters{}, gradients{};
  for (std::size_t i = 1; i < local.node.inputs.size(); ++i) {
    parameters += local.bytes(local.input(i));
    gradients += gradient_bytes(local, local.input(i));
  }
  switch (pass) {
    case Pass::Forward:
      return memory_work(flops, x + parameters, x);
    case Pass::BackwardInput:
      return memory_work(2 * flops, x + x + parameters, x);
    case Pass::BackwardWeight:
      return memory_work(flops, x + x, gradients);
  }
  return {};
}

// Returns the number of rows with statistics of their own: tokens, times heads for a norm per head.
std::int64_t measured_rows(const LocalNode& local) {
  const Dim width = last(local.input(0));
  const std::int64_t weight = std::max<std::int64_t>(1, local.input(1).shape[0].size);
  return rows(local.input(0), local.binding) *
         std::max<std::int64_t>(1, local_size(width, local.binding) / weight);
}

std::vector<Saved> saved_layer(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0], true),
          saved_bytes(kStatistics, Bytes{8 * measured_rows(local)}, true)};
}
std::vector<Saved> saved_rms(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0], true),
          saved_bytes(kStatistics, Bytes{4 * measured_rows(local)}, true)};
}
std::vector<Saved> saved_batch(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0], true),
          saved_bytes(kStatistics, Bytes{8 * local.input(0).shape[1].size}, true)};
}

}  // namespace

const Op& layer_norm() {
  static const Op op{"layer_norm",
                     "mean 0 and variance 1 over the last dimension, then weight and, if given, "
                     "bias",
                     infer_layer, norms_work<7>, saved_layer};
  return op;
}

const Op& rms_norm() {
  static const Op op{"rms_norm",
                     "root mean square 1 over the last dimension or each head of it, then weight; "
                     "unit_offset: 1 + weight",
                     infer_rms, norms_work<4>, saved_rms};
  return op;
}

const Op& batch_norm() {
  static const Op op{"batch_norm",
                     "mean 0 and variance 1 of each channel over the batch, then weight and bias",
                     infer_batch, norms_work<7>, saved_batch};
  return op;
}

}  // namespace trainyard
