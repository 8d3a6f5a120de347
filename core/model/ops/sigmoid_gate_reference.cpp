#include <cmath>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The element of the gate that element i of the row r meets.
std::size_t gate_of(std::int64_t gates, std::int64_t n, std::int64_t r, std::int64_t i) {
  return at(gates == 1 ? r : r * n + i);
}

ReferenceResult forward_sigmoid_gate(const ReferenceCall& c) {
  const HostTensor &gate = c.input(0), &x = c.input(1);
  HostTensor y = zeros_of_output(c, 0);
  const std::int64_t n = width(x);
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < n; ++i)
      y.values[at(r * n + i)] =
          sigmoid(gate.values[gate_of(width(gate), n, r, i)]) * x.values[at(r * n + i)];
  return one(std::move(y));
}

std::vector<HostTensor> backward_sigmoid_gate(const ReferenceCall& c) {
  const HostTensor &gate = c.input(0), &x = c.input(1), &dy = c.gradient(0);
  std::vector<HostTensor> list = {zeros_of_input(c, 0), zeros_of_input(c, 1)};
  const std::int64_t n = width(x);
  for (std::int64_t r = 0; r < rows(x); ++r)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::size_t g = gate_of(width(gate), n, r, i), e = at(r * n + i);
      const double share = sigmoid(gate.values[g]);
      list[0].values[g] += dy.values[e] * x.values[e] * share * (1 - share);
      list[1].values[e] = dy.values[e] * share;
    }
  return list;
}

}  // namespace

Reference sigmoid_gate_reference() {
  return {forward_sigmoid_gate, backward_sigmoid_gate, nullptr};
}

}  // namespace trainyard
