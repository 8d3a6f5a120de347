// These ops are a mixture of experts: the router picks top_k experts for each token, dispatch sends
// a copy to each, every expert is a product over the copies that it receives, and combine sums the
// results. Loads are assumed to be balanced.
#include <algorithm>

#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_router(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 3);
  expect_rank(graph, node, 1, 2);
  const Tensor &x = input(graph, node, 0), &weight = input(graph, node, 1);
  const std::int64_t top_k = attribute(node, "top_k", 1), experts = weight.shape[1].size;
  if (last(x).size != weight.shape[0].size)
    refuse(node, "expected tokens of width " + std::to_string(weight.shape[0].size) + ", found " +
                     to_text(x.shape));
  const std::int64_t groups = attribute(node, "groups", 1),
                     chosen = attribute(node, "chosen_groups", 1);
  if (groups < 1 || chosen < 1 || chosen > groups || experts % groups != 0 ||
      experts / groups * chosen < top_k)
    refuse(node, "expected groups that divide " + std::to_string(experts) + " experts, found " +
                     std::to_string(chosen) + " of " + std::to_string(groups) + " for " +
                     std::to_string(top_k) + " experts of a token");
  if (top_k < 1 || top_k > experts)
    refuse(node, "expected top_k from 1 to " + std::to_string(experts) + ", found " +
                     std::to_string(top_k));
  if (node.inputs.size() == 3) expect_vector(graph, node, 2, experts);
  Shape shape = x.shape;
  shape.back() = Dim{top_k, Axis::None, 0};
  return one_output(std::move(shape));
}

// The probabilities of all experts are kept in 4 bytes each for the softmax backward.
Bytes probabilities(const LocalNode& local) {
  return Bytes{4 * rows(local.input(0), local.binding) * local.input(1).shape[1].size};
}

Work work_router(const LocalNode& local, Pass pass) {
  const Tensor& weight = local.input(1);
  const std::int64_t m = rows(local.input(0), local.binding), k = weight.shape[0].size,
                     n = weight.shape[1].size;
  const Bytes x = local.bytes(local.input(0)), w = local.bytes(weight),
              scores = probabilities(local);
  switch (pass) {
    case Pass::Forward:
      return product_work(local.precision, m, n, k, 1, x + w, scores);
    case Pass::BackwardInput:
      return product_work(local.precision, m, k, n, 1, scores + w, x);
    case Pass::BackwardWeight:
      return product_work(local.precision, k, n, m, 1, x + scores, gradient_bytes(local, weight));
  }
  return {};
}

std::vector<Saved> saved_router(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0], true),
          saved_bytes("routing", probabilities(local), true)};
}

std::vector<Tensor> infer_dispatch(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Tensor &x = input(graph, node, 0), &scores = input(graph, node, 1);
  if (x.shape.empty() || x.shape.size() != scores.shape.size())
    refuse(node, "expected tokens and their scores, found " + to_text(x.shape) + " and " +
                     to_text(scores.shape));
  Shape shape = x.shape;
  shape.insert(shape.end() - 1, last(scores));
  return one_output(std::move(shape));
}

// Forward gathers each copy once; backward sums the gradients of the copies.
Work work_dispatch(const LocalNode& local, Pass pass) {
  const Bytes x = local.bytes(local.input(0)), copies = local.bytes(local.output(0));
  const auto elements = static_cast<double>(local.elements(local.output(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(0, copies, copies);
    case Pass::BackwardInput:
      return memory_work(elements, copies, x);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> saved_dispatch(const LocalNode& local) {
  return {saved_bytes("indices", Bytes{8 * local.elements(local.input(1))})};
}

std::vector<Tensor> infer_routed(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 3);
  expect_rank(graph, node, 1, 3);
  const Tensor &x = input(graph, node, 0), &weight = input(graph, node, 1);
  if (last(x).size != weight.shape[1].size)
    refuse(node, "expected token copies of width " + std::to_string(weight.shape[1].size) +
                     " (weight " + to_text(weight.shape) + "), found " + to_text(x.shape));
  if (node.inputs.size() == 3) {
    const Shape& bias = input(graph, node, 2).shape;
    if (bias.size() != 2 || bias[0].size != weight.shape[0].size ||
        bias[1].size != weight.shape[2].size)
      refuse(node, "expected a bias for each expert of the weight " + to_text(weight.shape) +
                       ", found " + to_text(bias));
  }
  Shape shape = x.shape;
  shape.back() = weight.shape[2];
  for (Dim& dim : shape) {
    if (node.split == TensorSplit::Column && dim.axis == Axis::SequenceRegion)
      dim.axis = Axis::ExpertSequence;
    if (node.split == TensorSplit::Row && dim.axis == Axis::ExpertSequence)
      dim.axis = Axis::SequenceRegion;
  }
  return one_output(std::move(shape));
}

Work work_routed(const LocalNode& local, Pass pass) {
  const Tensor& weight = local.input(1);
  const bool row = local.node.split == TensorSplit::Row;
  const std::int64_t copies = rows(row ? local.input(0) : local.output(0), local.binding);
  const std::int64_t experts = local_size(weight.shape[0], local.binding);
  const std::int64_t m = std::max<std::int64_t>(1, (copies + experts - 1) / experts);
  const std::int64_t k = local_size(weight.shape[1], local.binding),
                     n = local_size(weight.shape[2], local.binding);
  const Bytes element{bytes_of(local.precision.activation)};
  const Bytes x = element * product({copies, k}), y = element * product({copies, n}),
              w = local.bytes(weight);
  Work work;
  switch (pass) {
    case Pass::Forward:
      work = product_work(local.precision, m, n, k, experts, x + w, y);
      break;
    case Pass::BackwardInput:
      work = product_work(local.precision, m, k, n, experts, y + w, x);
      break;
    case Pass::BackwardWeight:
      work = product_work(local.precision, k, n, m, experts, x + y, gradient_bytes(local, weight));
      break;
  }
  // This uses the exact count of copies, not experts times the rounded-up share of one.
  work.flops = {2.0 * static_cast<double>(copies) * static_cast<double>(n) *
                static_cast<double>(k)};
  return work;
}

// Copies of tokens are kept where experts are frozen too: grouped products save their input, which
// says whose copies they are.
std::vector<Saved> saved_routed(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0], true)};
}

std::vector<Tensor> infer_combine(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Tensor &x = input(graph, node, 0), &scores = input(graph, node, 1);
  if (x.shape.size() < 2 || x.shape.size() != scores.shape.size() + 1 ||
      x.shape[x.shape.size() - 2].size != last(scores).size)
    refuse(node, "expected token copies and one score for each, found " + to_text(x.shape) +
                     " and " + to_text(scores.shape));
  Shape shape = x.shape;
  shape.erase(shape.end() - 2);
  return one_output(std::move(shape));
}

Work work_combine(const LocalNode& local, Pass pass) {
  const Bytes copies = local.bytes(local.input(0)), scores = local.bytes(local.input(1)),
              out = local.bytes(local.output(0));
  const double flops = 2.0 * static_cast<double>(local.elements(local.input(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(flops, copies + scores, out);
    case Pass::BackwardInput:
      return memory_work(2 * flops, out + copies + scores, copies + scores);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> saved_combine(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0]), saved_tensor(local.node.inputs[1])};
}

}  // namespace

const Op& router() {
  static const Op op{"router",
                     "scores of experts and the top_k of them; a third input is a balancing bias",
                     infer_router, work_router, saved_router};
  return op;
}
const Op& dispatch() {
  static const Op op{"dispatch",
                     "a copy of each token for each of its experts, sent to where they are",
                     infer_dispatch, work_dispatch, saved_dispatch};
  return op;
}
const Op& routed_matmul() {
  static const Op op{
      "routed_matmul",
      "each token copy through its expert's product, plus a bias; weight [experts, in, out], bias "
      "[experts, out]; top_k",
      infer_routed, work_routed, saved_routed};
  return op;
}
const Op& combine() {
  static const Op op{"combine", "sum of a token's copies weighted by their scores", infer_combine,
                     work_combine, saved_combine};
  return op;
}

std::vector<bool> copies_of_tokens(const Graph& graph) {
  std::vector<bool> found(graph.tensors.size(), false);
  for (const Node& node : graph.nodes)
    for (TensorId out : node.outputs)
      found[out.value] =
          node.op == &dispatch() || (node.op != &combine() && found[node.inputs[0].value]);
  return found;
}

}  // namespace trainyard
