// This op puts rows around an image that its windows read: padding at the edges of the image and,
// where ranks divide its rows, the rows of the neighbours. What reads them has no padding of its
// own above and below (row_padding).
//
//   rank 0   padding | rows 0-3 | row 4           the halo of rank 0 below is the first row of rank
//   rank 1     row 3 | rows 4-7 | padding         1, which gives back what it makes of its gradient
//
// With the attribute all, every rank has the rows of all: what reads them does not divide them.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_halo_rows(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 1);
  expect_rank(graph, node, 0, 4);
  Shape shape = input(graph, node, 0).shape;
  const std::int64_t above = attribute(node, "above"), below = attribute(node, "below");
  if (above < 0 || below < 0 || above > shape[2].size || below > shape[2].size)
    refuse(node, "expected at most as many rows above and below as the image has, found " +
                     std::to_string(above) + " and " + std::to_string(below) + " of " +
                     to_text(shape));
  Dim& rows = shape[2];
  if (attribute(node, "all") != 0) {
    rows = {rows.size, Axis::None, 0};
    return one_output(std::move(shape));
  }
  rows.size += above + below;
  if (rows.axis == Axis::Rows) rows.axis = Axis::HaloRows, rows.units = above + below;
  return one_output(std::move(shape));
}

Work halo_rows_work(const LocalNode& local, Pass pass) {
  const Bytes x = local.bytes(local.input(0)), out = local.bytes(local.output(0));
  switch (pass) {
    case Pass::Forward:
      return memory_work(0, x, out);
    case Pass::BackwardInput:
      if (attribute(local.node, "leaf") != 0) return {};
      return memory_work(0, x, x);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> saved_by_halo_rows(const LocalNode&) { return {}; }

}  // namespace

const Op& halo_rows() {
  static const Op op{
      "halo_rows",
      "an image with rows around it that windows read; attributes above, below; "
      "largest: of windows that take the largest value; all: of every rank, instead; "
      "leaf: the image needs no gradient",
      infer_halo_rows, halo_rows_work, saved_by_halo_rows};
  return op;
}

}  // namespace trainyard
