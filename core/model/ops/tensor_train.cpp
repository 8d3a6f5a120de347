// This op looks up rows of a table that is kept as the cores of a tensor train: it multiplies out
// each row that it needs. The rows that a microbatch looks up most often may be made once for all
// of their look-ups, which is a cache of hot rows: it holds them as an output of the op, and the
// gradients of a hot row's look-ups are added up before they go back through the cores once.
#include "core/model/tensor_train.h"

#include <algorithm>
#include <cmath>

#include "core/model/hot_rows.h"
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_tensor_train(const Graph& graph, const Node& node) {
  expect_inputs(node, 1 + kCores, 1 + kCores);
  const Tensor& ids = input(graph, node, 0);
  if (ids.kind != TensorKind::Index)
    refuse(node, "expected indices as input 0, found the tensor \"" + ids.name +
                     "\", which is not of kind index");
  for (std::size_t k = 1; k <= kCores; ++k) expect_rank(graph, node, k, 2);
  const TensorTrain train = tensor_train_of(graph, node);
  for (std::size_t k = 0; k < kCores; ++k)
    if (train.column_bases[k] < 1 || train.slice(k) != input(graph, node, k + 1).shape[1].size)
      refuse(node, "expected slices of core " + std::to_string(k + 1) + " that the ranks " +
                       std::to_string(train.first_rank) + " and " +
                       std::to_string(train.second_rank) + " divide, found " +
                       std::to_string(input(graph, node, k + 1).shape[1].size) + " numbers");
  const CoreDigits& p = train.row_bases;
  if (train.rows < 1 || product({p[0], p[1], p[2]}) < train.rows)
    refuse(node, "expected cores of at least the " + std::to_string(train.rows) +
                     " rows of the table, found " + std::to_string(product({p[0], p[1], p[2]})));
  Shape shape = ids.shape;
  for (Dim& dim : shape)
    if (dim.axis == Axis::Sequence) dim.axis = Axis::SequenceRegion;
  const Dim width{train.width(), Axis::None, 0};
  shape.push_back(width);
  std::vector<Tensor> made = one_output(std::move(shape));
  if (const std::int64_t hot = attribute(node, "hot_rows"); hot > 0)
    made.push_back({"", {Dim{hot, Axis::None, 0}, width}, TensorKind::Activation, ""});
  return made;
}

// Rows that are multiplied out for so many look-ups of a microbatch, on average.
double made_rows(const Node& node, const TensorTrain& train, std::int64_t lookups) {
  constexpr double kThousandth = 1e-3;
  const std::int64_t hot = attribute(node, "hot_rows");
  const double all = static_cast<double>(lookups),
               exponent = kThousandth * static_cast<double>(attribute(node, "zipf"));
  if (hot == 0 || !(exponent > 0)) return all;
  return all * (1 - zipf_share(hot, train.rows, exponent)) +
         zipf_reached(hot, train.rows, exponent, lookups);
}

Work tensor_train_work(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardInput) return {};
  const TensorTrain train = tensor_train_of(local.graph, local.node);
  const std::int64_t lookups = local.elements(local.output(0)) / train.width();
  const double made = made_rows(local.node, train, lookups);
  const auto rows = std::max<std::int64_t>(1, std::llround(made));
  const Bytes ids = local.bytes(local.input(0)), out = local.bytes(local.output(0));
  const std::int64_t numbers = product({rows, train.slice(0) + train.slice(1) + train.slice(2)});
  const Bytes cores = Bytes{bytes_of(local.precision.parameter)} * numbers,
              gradients = Bytes{bytes_of(local.precision.gradient)} * numbers;
  const bool forward = pass == Pass::Forward;
  Work work = product_work(local.precision, train.column_bases[0],
                           train.column_bases[1] * train.second_rank, train.first_rank, rows,
                           forward ? ids + cores : ids + out + cores + gradients,
                           forward ? out : gradients);
  work.flops = {static_cast<double>(rows) * (forward ? train.flops() : train.gradient_flops())};
  return work;
}

std::vector<Saved> saved_by_tensor_train(const LocalNode& local) {
  return {saved_for_weights(local.node.inputs[0])};
}

}  // namespace

const Op& tensor_train() {
  static const Op op{"tensor_train",
                     "rows of a table that is kept as three cores, by index; rows: of the table; "
                     "first_rank, second_rank: between the cores; hot_rows: how many of the most "
                     "frequent rows of a microbatch are made once; zipf: thousandths of the "
                     "exponent by which their share is estimated",
                     infer_tensor_train, tensor_train_work, saved_by_tensor_train};
  return op;
}

}  // namespace trainyard
