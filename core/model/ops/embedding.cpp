// This op looks up rows of a table by index: a gather in forward and a scattered addition in
// backward.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_embedding(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  expect_rank(graph, node, 1, 2);
  const Tensor& ids = input(graph, node, 0);
  if (ids.kind != TensorKind::Index)
    refuse(node, "expected indices as input 0, found the tensor \"" + ids.name +
                     "\", which is not of kind index");
  Shape shape = ids.shape;
  for (Dim& dim : shape)
    if (dim.axis == Axis::Sequence) dim.axis = Axis::SequenceRegion;
  shape.push_back(input(graph, node, 1).shape[1]);
  return one_output(std::move(shape));
}

Work embedding_work(const LocalNode& local, Pass pass) {
  const Bytes ids = local.bytes(local.input(0)), out = local.bytes(local.output(0));
  const std::int64_t elements = local.elements(local.output(0));
  const Bytes rows_read = Bytes{bytes_of(local.precision.parameter)} * elements;
  const Bytes rows_updated = Bytes{bytes_of(local.precision.gradient)} * elements;
  switch (pass) {
    case Pass::Forward:
      return memory_work(0, ids + rows_read, out, WorkKind::Gather);
    case Pass::BackwardInput:
      return {};
    case Pass::BackwardWeight:
      return memory_work(static_cast<double>(elements), ids + out + rows_updated, rows_updated,
                         WorkKind::Gather);
  }
  return {};
}

std::vector<Saved> saved_by_embedding(const LocalNode& local) {
  return {saved_for_weights(local.node.inputs[0])};
}

}  // namespace

std::optional<Dim> table_rows(const Graph& graph, const Node& node) {
  if (node.op == &embedding()) return graph[node.inputs[1]].shape[0];
  if (node.op == &tensor_train()) return Dim{attribute(node, "rows"), Axis::None, 0};
  return std::nullopt;
}

const Op& embedding() {
  static const Op op{"embedding",
                     "rows of table [rows, width] by index; scaled: times the root of the width; "
                     "lookups: rows one "
                     "sample reads, for tables that are mostly not read (recommenders)",
                     infer_embedding, embedding_work, saved_by_embedding};
  return op;
}

}  // namespace trainyard
