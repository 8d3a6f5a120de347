// These ops rearrange data and compute nothing: parts of a fused projection, flattened images, the
// first token, joined heads.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

Work no_work(const LocalNode&, Pass) { return {}; }
std::vector<Saved> views_keep_nothing(const LocalNode&) { return {}; }

// The input is read and written to the output; backward does the same in the other direction.
Work work_copy(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};
  const Bytes out = local.bytes(local.output(0));
  return memory_work(0, out, out);
}

std::vector<Tensor> infer_split_qkv(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 1);
  const Tensor& x = input(graph, node, 0);
  const std::int64_t heads = attribute(node, "heads", 1);
  if (heads < 1 || x.shape.empty() || last(x).size % (3 * heads) != 0)
    refuse(node, "expected a last dimension that holds q, k and v of " + std::to_string(heads) +
                     " heads, found " + to_text(x.shape));
  Shape shape = x.shape;
  shape.back() = Dim{last(x).size / 3, Axis::Heads, heads};
  const Tensor part{"", shape, TensorKind::Activation, ""};
  return {part, part, part};
}

std::vector<Tensor> infer_concat_heads(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Tensor &own = input(graph, node, 0), &shared = input(graph, node, 1);
  const std::int64_t heads = last(own).units;
  if (heads < 1 || own.shape.size() != shared.shape.size())
    refuse(node, "expected heads and a part that all of them share, found " + to_text(own.shape) +
                     " and " + to_text(shared.shape));
  Shape shape = own.shape;
  shape.back().size += heads * last(shared).size;
  return one_output(std::move(shape));
}

std::vector<Tensor> infer_flatten(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 1);
  expect_rank(graph, node, 0, 4);
  const Shape& x = input(graph, node, 0).shape;
  return one_output({x[0], Dim{x[1].size * x[2].size * x[3].size, Axis::None, 0}});
}

std::vector<Tensor> infer_first_token(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 1);
  expect_rank(graph, node, 0, 3);
  const Shape& x = input(graph, node, 0).shape;
  return one_output({x[1], x[2]});
}

}  // namespace

const Op& split_qkv() {
  static const Op op{"split_qkv",
                     "queries, keys and values of one fused projection, as views; attribute heads",
                     infer_split_qkv, no_work, views_keep_nothing};
  return op;
}
const Op& concat_heads() {
  static const Op op{"concat_heads", "appends to each head a part that all heads share",
                     infer_concat_heads, work_copy, views_keep_nothing};
  return op;
}
const Op& flatten() {
  static const Op op{"flatten", "an image as one row, as a view", infer_flatten, no_work,
                     views_keep_nothing};
  return op;
}
const Op& first_token() {
  static const Op op{"first_token", "the first token of each sequence", infer_first_token,
                     work_copy, views_keep_nothing};
  return op;
}

}  // namespace trainyard
