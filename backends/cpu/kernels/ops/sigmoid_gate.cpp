// Computes sigmoid(gate) * x, with a gate for each element or one for the whole row.
#include <cmath>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

float gate_share(float x) { return 1 / (1 + std::exp(-x)); }

TRAINYARD_VECTORISED void gate_loop(std::int64_t n, const float* gate, const float* x, float* y,
                                    bool adds) {
  each_lane(
      n, y, adds, [](Lanes a, Lanes b) TRAINYARD_INLINED { return logistic(a) * b; }, gate, x);
}
TRAINYARD_VECTORISED void gate_slope_loop(std::int64_t n, const float* gate, const float* x,
                                          const float* dy, float* d, bool adds) {
  each_lane(
      n, d, adds,
      [](Lanes a, Lanes b, Lanes e) TRAINYARD_INLINED {
        const Lanes share = logistic(a);
        return e * b * share * (1 - share);
      },
      gate, x, dy);
}
TRAINYARD_VECTORISED void row_loop(std::int64_t n, float share, const float* x, float* y,
                                   bool adds) {
  each_lane(n, y, adds, [share](Lanes b) TRAINYARD_INLINED { return share * b; }, x);
}
TRAINYARD_VECTORISED float row_sum(std::int64_t n, const float* x, const float* dy) {
  return sum_over(n, [](Lanes a, Lanes b) TRAINYARD_INLINED { return a * b; }, x, dy);
}

bool one_for_row(const KernelCall& call) { return width(input(call, 0)) == 1; }

void sigmoid_gate_forward(const KernelCall& call) {
  const TensorView& x = input(call, 1);
  const float* gate = input(call, 0).f32();
  float* y = output(call).f32();
  const std::int64_t n = width(x);
  if (!one_for_row(call)) return gate_loop(x.elements(), gate, x.f32(), y, false);
  for (std::int64_t r = 0; r < rows(x); ++r)
    row_loop(n, gate_share(gate[r]), x.f32() + r * n, y + r * n, false);
}

void sigmoid_gate_backward(const KernelCall& call) {
  const TensorView &x = input(call, 1), &dy = output_gradient(call);
  const float* gate = input(call, 0).f32();
  const Target d_gate = target(call, 0), dx = target(call, 1);
  const std::int64_t n = width(x);
  if (!one_for_row(call)) {
    if (d_gate)
      gate_slope_loop(x.elements(), gate, x.f32(), dy.f32(), d_gate.view.f32(), d_gate.add);
    if (dx) gate_loop(x.elements(), gate, dy.f32(), dx.view.f32(), dx.add);
    return;
  }
  for (std::int64_t r = 0; r < rows(x); ++r) {
    const float share = gate_share(gate[r]);
    if (d_gate) {
      const float sum = row_sum(n, x.f32() + r * n, dy.f32() + r * n) * share * (1 - share);
      d_gate.view.f32()[r] = d_gate.add ? d_gate.view.f32()[r] + sum : sum;
    }
    if (dx) row_loop(n, share, dy.f32() + r * n, dx.view.f32() + r * n, dx.add);
  }
}

}  // namespace

CpuKernel sigmoid_gate_kernel() {
  return without_parameters(sigmoid_gate_forward, sigmoid_gate_backward);
}

}  // namespace trainyard
