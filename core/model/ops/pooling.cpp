// This op takes the largest or mean value of each window of an image. For the largest it keeps the
// index of that element.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_pooling(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 1);
  expect_rank(graph, node, 0, 4);
  const Shape& x = input(graph, node, 0).shape;
  const std::int64_t kernel = attribute(node, "kernel"), padding = attribute(node, "padding");
  const std::int64_t stride = attribute(node, "stride", kernel), above = row_padding(node);
  if (kernel == 0)  // one window: the whole image
    return one_output({x[0], x[1], Dim{1, Axis::None, 0}, Dim{1, Axis::None, 0}});
  const auto size = [&](std::int64_t in, std::int64_t around) {
    if (kernel < 0 || stride < 1 || around < 0 || in + 2 * around < kernel)
      refuse(node, "expected an image no smaller than the window of " + std::to_string(kernel) +
                       ", found " + to_text(x));
    return (in + 2 * around - kernel) / stride + 1;
  };
  return one_output({x[0], x[1], Dim{size(x[2].size, above), rows_of_windows(x[2]), 0},
                     Dim{size(x[3].size, padding), Axis::None, 0}});
}

bool keeps_indices(const Node& node) { return attribute(node, "average") == 0; }

Bytes indices(const LocalNode& local) {
  return Bytes{keeps_indices(local.node) ? 8 * local.elements(local.output(0)) : 0};
}

Work pooling_work(const LocalNode& local, Pass pass) {
  const Bytes x = local.bytes(local.input(0)), out = local.bytes(local.output(0));
  const auto flops = static_cast<double>(local.elements(local.input(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(flops, x, out + indices(local));
    case Pass::BackwardInput:
      return memory_work(flops, out + indices(local), x);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> saved_by_pooling(const LocalNode& local) {
  if (!keeps_indices(local.node)) return {};
  return {saved_bytes("indices", indices(local))};
}

}  // namespace

const Op& pooling() {
  static const Op op{
      "pooling",
      "largest (or average) of each window; attributes kernel (0 = all), stride, padding "
      "(row_padding above and below, where it is another), average",
      infer_pooling, pooling_work, saved_by_pooling};
  return op;
}

}  // namespace trainyard
