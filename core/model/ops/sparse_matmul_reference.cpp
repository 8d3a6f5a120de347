#include "core/model/ops/reference_common.h"
#include "core/model/sparse_pattern.h"

namespace trainyard {
namespace {

// Calls f(row, column, index of the stored weight) for each stored weight.
template <class F>
void each_stored(const ReferenceCall& c, F&& f) {
  const SparseShape shape = sparse_weight_of(c.graph, c.node)->shape;
  const HostTensor& pattern = c.input(2);
  const std::vector<float> numbers(pattern.values.begin(), pattern.values.end());
  std::int64_t stored = 0;
  for (const std::int64_t place : places_of(shape, numbers)) {
    const std::int64_t row = place / shape.row_blocks(),
                       first = place % shape.row_blocks() * shape.block;
    for (std::int64_t i = 0; i < shape.block; ++i) f(row, first + i, stored++);
  }
}

ReferenceResult sparse_matmul_forward(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &w = c.input(1);
  HostTensor y = zeros_of_output(c, 0);
  const std::int64_t k = width(x), n = width(y);
  if (c.node.inputs.size() == 4)
    for (std::int64_t r = 0; r < rows(x); ++r)
      for (std::int64_t j = 0; j < n; ++j) y.values[at(r * n + j)] = c.input(3).values[at(j)];
  each_stored(c, [&](std::int64_t i, std::int64_t j, std::int64_t s) {
    for (std::int64_t r = 0; r < rows(x); ++r)
      y.values[at(r * n + j)] += x.values[at(r * k + i)] * w.values[at(s)];
  });
  return one(std::move(y));
}

std::vector<HostTensor> sparse_matmul_backward_input(const ReferenceCall& c) {
  const HostTensor &w = c.input(1), &dy = c.gradient(0);
  HostTensor dx = zeros_of_input(c, 0);
  const std::int64_t k = width(dx), n = width(dy);
  each_stored(c, [&](std::int64_t i, std::int64_t j, std::int64_t s) {
    for (std::int64_t r = 0; r < rows(dy); ++r)
      dx.values[at(r * k + i)] += dy.values[at(r * n + j)] * w.values[at(s)];
  });
  return only(c, 0, std::move(dx));
}

std::vector<HostTensor> sparse_matmul_backward_weight(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &dy = c.gradient(0);
  std::vector<HostTensor> list(c.node.inputs.size());
  HostTensor& dw = list[1] = zeros_of_input(c, 1);
  const std::int64_t k = width(x), n = width(dy);
  each_stored(c, [&](std::int64_t i, std::int64_t j, std::int64_t s) {
    for (std::int64_t r = 0; r < rows(x); ++r)
      dw.values[at(s)] += x.values[at(r * k + i)] * dy.values[at(r * n + j)];
  });
  if (list.size() == 4) {
    HostTensor& db = list[3] = zeros_of_input(c, 3);
    for (std::int64_t r = 0; r < rows(dy); ++r)
      for (std::int64_t j = 0; j < n; ++j) db.values[at(j)] += dy.values[at(r * n + j)];
  }
  return list;
}

}  // namespace

Reference sparse_matmul_reference() {
  return {sparse_matmul_forward, sparse_matmul_backward_input, sparse_matmul_backward_weight};
}

}  // namespace trainyard
