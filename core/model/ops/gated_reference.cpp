#include <cmath>
#include <numbers>

#include "core/model/ops/reference_common.h"

namespace trainyard {
namespace {

struct Curve {
  double value, slope;
};
Curve silu(double x) {
  const double s = 1 / (1 + std::exp(-x));
  return {x * s, s * (1 + x * (1 - s))};
}
Curve gelu_curve(double x) {
  constexpr double kRootTwoPi = 2.5066282746310002;
  const double s = 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
  return {x * s, s + x * std::exp(-x * x / 2) / kRootTwoPi};
}

// Gate and up are two tensors, or the two halves of each row of one tensor.
struct Places {
  const HostTensor &gate, &up;
  std::int64_t n, stride, offset;
  std::size_t gate_at(std::int64_t r, std::int64_t j) const { return at(r * stride + j); }
  std::size_t up_at(std::int64_t r, std::int64_t j) const { return at(r * stride + offset + j); }
};
Places places(const ReferenceCall& c) {
  const HostTensor& gate = c.input(0);
  if (c.node.inputs.size() == 2) return {gate, c.input(1), width(gate), width(gate), 0};
  return {gate, gate, width(gate) / 2, width(gate), width(gate) / 2};
}

template <Curve (*kF)(double)>
ReferenceResult gated_forward(const ReferenceCall& c) {
  const Places p = places(c);
  HostTensor y = zeros_of_output(c, 0);
  for (std::int64_t r = 0; r < rows(y); ++r)
    for (std::int64_t j = 0; j < p.n; ++j)
      y.values[at(r * p.n + j)] =
          kF(p.gate.values[p.gate_at(r, j)]).value * p.up.values[p.up_at(r, j)];
  y.experts = p.gate.experts;
  return one(std::move(y));
}

template <Curve (*kF)(double)>
std::vector<HostTensor> gated_backward_input(const ReferenceCall& c) {
  const Places p = places(c);
  const HostTensor& dy = c.gradient(0);
  std::vector<HostTensor> list;
  for (std::size_t i = 0; i < c.node.inputs.size(); ++i) list.push_back(zeros_of_input(c, i));
  for (std::int64_t r = 0; r < rows(dy); ++r)
    for (std::int64_t j = 0; j < p.n; ++j) {
      const Curve f = kF(p.gate.values[p.gate_at(r, j)]);
      const double g = dy.values[at(r * p.n + j)];
      list.front().values[p.gate_at(r, j)] = g * f.slope * p.up.values[p.up_at(r, j)];
      list.back().values[p.up_at(r, j)] = g * f.value;
    }
  return list;
}

}  // namespace

Reference gated_silu_reference() {
  return {gated_forward<silu>, gated_backward_input<silu>, nullptr};
}
Reference gated_gelu_reference() {
  return {gated_forward<gelu_curve>, gated_backward_input<gelu_curve>, nullptr};
}

}  // namespace trainyard
