// These ops touch every element once: residual sum, products, activations, dropout, rotary
// positions.
#include "core/model/ops.h"
#include "core/model/ops/common.h"
#include "core/model/patch_grid.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_same(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 1);
  return one_output(input(graph, node, 0).shape);
}

template <int kFlops>
Work work_unary(const LocalNode& local, Pass pass) {
  const Bytes x = local.bytes(local.input(0));
  const double flops = kFlops * static_cast<double>(local.elements(local.input(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(flops, x, x);
    case Pass::BackwardInput:
      return memory_work(flops, x + x, x);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> keep_input(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0])};
}
// Backward can be computed from the output as well as from the input, and the next product keeps
// the output anyway.
std::vector<Saved> keep_output(const LocalNode& local) {
  return {saved_tensor(local.node.outputs[0])};
}
std::vector<Saved> keep_nothing(const LocalNode&) { return {}; }

// A dimension of size 1 in the second input is repeated along the first's.
std::vector<Tensor> infer_add(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Shape &a = input(graph, node, 0).shape, &b = input(graph, node, 1).shape;
  bool fits = a.size() == b.size();
  for (std::size_t i = 0; fits && i < a.size(); ++i)
    fits = a[i].size == b[i].size || b[i].size == 1;
  if (!fits)
    refuse(node, "expected two inputs of one shape, found " + to_text(a) + " and " + to_text(b));
  return one_output(a);
}

// In backward the gradient goes to both inputs unchanged; the cost is summing it where the residual
// stream forked.
Work work_add(const LocalNode& local, Pass pass) {
  const Bytes out = local.bytes(local.output(0));
  const auto flops = static_cast<double>(local.elements(local.output(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(flops, out + local.bytes(local.input(1)), out);
    case Pass::BackwardInput:
      return memory_work(flops, out + out, out);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Tensor> infer_multiply(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Shape &a = input(graph, node, 0).shape, &b = input(graph, node, 1).shape;
  if (a != b)
    refuse(node, "expected two inputs of one shape, found " + to_text(a) + " and " + to_text(b));
  return one_output(a);
}

Work work_multiply(const LocalNode& local, Pass pass) {
  const Bytes out = local.bytes(local.output(0));
  const auto flops = static_cast<double>(local.elements(local.output(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(flops, out + out, out);
    case Pass::BackwardInput:
      return memory_work(2 * flops, out + out + out, out + out);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> keep_both(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0]), saved_tensor(local.node.inputs[1])};
}

std::vector<Tensor> infer_scale(const Graph& graph, const Node& node) {
  if (attribute(node, "denominator", 1) == 0) refuse(node, "expected a denominator other than 0");
  return infer_same(graph, node);
}

// Backward is the same product with the gradient.
Work work_scale(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};
  const Bytes x = local.bytes(local.input(0));
  return memory_work(static_cast<double>(local.elements(local.input(0))), x, x);
}

Work work_dropout(const LocalNode& local, Pass pass) {
  const Bytes x = local.bytes(local.input(0)), mask{local.elements(local.input(0))};
  const double flops = 2.0 * static_cast<double>(mask.value);
  switch (pass) {
    case Pass::Forward:
      return memory_work(flops, x, x + mask);
    case Pass::BackwardInput:
      return memory_work(flops, x + mask, x);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> keep_mask(const LocalNode& local) {
  return {saved_bytes("mask", Bytes{local.elements(local.input(0))})};
}

// Backward is the opposite rotation, so it reads and writes as much as forward does.
std::vector<Tensor> infer_rotary(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 1);
  const Shape& x = input(graph, node, 0).shape;
  if (attribute(node, "columns") > 0)
    if (const std::string why = why_no_grid(node, x.empty() ? 0 : x[0].size); !why.empty())
      refuse(node, "expected " + why);
  return one_output(x);
}

Work work_rotary(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};
  const Bytes x = local.bytes(local.input(0));
  return memory_work(3.0 * static_cast<double>(local.elements(local.input(0))), x, x);
}

}  // namespace

const Op& add() {
  static const Op op{"add", "sum of two tensors (a residual, positions)", infer_add, work_add,
                     keep_nothing};
  return op;
}
const Op& multiply() {
  static const Op op{"multiply", "product of two tensors, element by element", infer_multiply,
                     work_multiply, keep_both};
  return op;
}
const Op& scale() {
  static const Op op{"scale", "x times a constant; attributes numerator, denominator", infer_scale,
                     work_scale, keep_nothing};
  return op;
}
const Op& gelu() {
  static const Op op{"gelu", "x times the normal distribution of x", infer_same, work_unary<8>,
                     keep_input};
  return op;
}
const Op& relu() {
  static const Op op{"relu", "x where positive, else 0", infer_same, work_unary<1>, keep_output};
  return op;
}
const Op& squared_relu() {
  static const Op op{"squared_relu", "x squared where positive, else 0", infer_same, work_unary<2>,
                     keep_input};
  return op;
}
const Op& tanh_op() {
  static const Op op{"tanh", "hyperbolic tangent", infer_same, work_unary<6>, keep_output};
  return op;
}
const Op& dropout() {
  static const Op op{"dropout", "zeroes elements at random in training and scales the rest",
                     infer_same, work_dropout, keep_mask};
  return op;
}
const Op& rotary() {
  static const Op op{
      "rotary",
      "rotates queries or keys by their position; with columns, half of each head by "
      "the row of a patch in its image and half by its column; attributes images, "
      "columns, window, class_token, as of merge_patches",
      infer_rotary, work_rotary, keep_nothing};
  return op;
}

}  // namespace trainyard
