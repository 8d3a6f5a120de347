#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

ReferenceResult matmul_forward(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &w = c.input(1);
  HostTensor y = zeros_of_output(c, 0);
  const std::int64_t k = w.shape[0], n = w.shape[1];
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = c.node.inputs.size() == 3 ? c.input(2).values[at(j)] : 0.0;
      for (std::int64_t i = 0; i < k; ++i) sum += x.values[at(r * k + i)] * w.values[at(i * n + j)];
      y.values[at(r * n + j)] = sum;
    }
  return one(std::move(y));
}

std::vector<HostTensor> matmul_backward_input(const ReferenceCall& c) {
  const HostTensor &w = c.input(1), &dy = c.gradient(0);
  HostTensor dx = zeros_of_input(c, 0);
  const std::int64_t k = w.shape[0], n = w.shape[1];
  for (std::int64_t r = 0; r < rows(dy); ++r)
    for (std::int64_t i = 0; i < k; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j)
        sum += dy.values[at(r * n + j)] * w.values[at(i * n + j)];
      dx.values[at(r * k + i)] = sum;
    }
  return only(c, 0, std::move(dx));
}

std::vector<HostTensor> matmul_backward_weight(const ReferenceCall& c) {
  const HostTensor &x = c.input(0), &dy = c.gradient(0);
  std::vector<HostTensor> list(c.node.inputs.size());
  HostTensor& dw = list[1] = zeros_of_input(c, 1);
  const std::int64_t k = dw.shape[0], n = dw.shape[1];
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        dw.values[at(i * n + j)] += x.values[at(r * k + i)] * dy.values[at(r * n + j)];
  if (list.size() == 3) {
    HostTensor& db = list[2] = zeros_of_input(c, 2);
    for (std::int64_t r = 0; r < rows(dy); ++r)
      for (std::int64_t j = 0; j < n; ++j) db.values[at(j)] += dy.values[at(r * n + j)];
  }
  return list;
}

}  // namespace

Reference matmul_reference() {
  return {matmul_forward, matmul_backward_input, matmul_backward_weight};
}

}  // namespace trainyard
