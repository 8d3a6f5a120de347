// Kernels of activations and gated activations.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

TRAINYARD_VECTORISED void gelu_loop(std::int64_t n, const float* x, float* y) {
  each_lane(n, y, false, [](Lanes a) TRAINYARD_INLINED { return gelu_lanes(a).value; }, x);
}
TRAINYARD_VECTORISED void gelu_slope_loop(std::int64_t n, const float* x, const float* dy,
                                          float* dx, bool adds) {
  each_lane(
      n, dx, adds, [](Lanes a, Lanes d) TRAINYARD_INLINED { return d * gelu_lanes(a).slope; }, x,
      dy);
}
TRAINYARD_VECTORISED void relu_loop(std::int64_t n, const float* x, float* y) {
  each_lane(n, y, false, [](Lanes a) TRAINYARD_INLINED { return where_negative(a, all(0), a); }, x);
}
TRAINYARD_VECTORISED void relu_slope_loop(std::int64_t n, const float* y, const float* dy,
                                          float* dx, bool adds) {
  each_lane(
      n, dx, adds,
      [](Lanes a, Lanes d) TRAINYARD_INLINED { return where_negative(0 - a, d, all(0)); }, y, dy);
}
TRAINYARD_VECTORISED void squared_relu_loop(std::int64_t n, const float* x, float* y) {
  each_lane(n, y, false, [](Lanes a) TRAINYARD_INLINED { return a * larger(a, all(0)); }, x);
}
TRAINYARD_VECTORISED void squared_relu_slope_loop(std::int64_t n, const float* x, const float* dy,
                                                  float* dx, bool adds) {
  each_lane(
      n, dx, adds, [](Lanes a, Lanes d) TRAINYARD_INLINED { return d * 2 * larger(a, all(0)); }, x,
      dy);
}
TRAINYARD_VECTORISED void tanh_loop(std::int64_t n, const float* x, float* y) {
  each_lane(n, y, false, [](Lanes a) TRAINYARD_INLINED { return hyperbolic_tangent(a); }, x);
}
TRAINYARD_VECTORISED void tanh_slope_loop(std::int64_t n, const float* y, const float* dy,
                                          float* dx, bool adds) {
  each_lane(n, dx, adds, [](Lanes a, Lanes d) TRAINYARD_INLINED { return d * (1 - a * a); }, y, dy);
}

void gelu_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  gelu_loop(x.elements(), x.f32(), output(call).f32());
}
void gelu_backward(const KernelCall& call) {
  if (const Target dx = target(call, 0))
    gelu_slope_loop(dx.view.elements(), input(call, 0).f32(), output_gradient(call).f32(),
                    dx.view.f32(), dx.add);
}
void relu_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  relu_loop(x.elements(), x.f32(), output(call).f32());
}
void relu_backward(const KernelCall& call) {
  if (const Target dx = target(call, 0))
    relu_slope_loop(dx.view.elements(), output(call).f32(), output_gradient(call).f32(),
                    dx.view.f32(), dx.add);
}
void squared_relu_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  squared_relu_loop(x.elements(), x.f32(), output(call).f32());
}
void squared_relu_backward(const KernelCall& call) {
  if (const Target dx = target(call, 0))
    squared_relu_slope_loop(dx.view.elements(), input(call, 0).f32(), output_gradient(call).f32(),
                            dx.view.f32(), dx.add);
}
void tanh_forward(const KernelCall& call) {
  const TensorView& x = input(call, 0);
  tanh_loop(x.elements(), x.f32(), output(call).f32());
}
void tanh_backward(const KernelCall& call) {
  if (const Target dx = target(call, 0))
    tanh_slope_loop(dx.view.elements(), output(call).f32(), output_gradient(call).f32(),
                    dx.view.f32(), dx.add);
}

// --- gated: f(gate) * up; gate and up are two tensors, or the two halves of each row of one ---

struct Gated {
  std::int64_t rows, n, stride;
  const float *gate, *up;
};
Gated gated(const KernelCall& call) {
  const TensorView& gate = input(call, 0);
  if (call.node.inputs.size() == 2)
    return {1, gate.elements(), gate.elements(), gate.f32(), input(call, 1).f32()};
  const std::int64_t n = width(gate) / 2;
  return {rows(gate), n, 2 * n, gate.f32(), gate.f32() + n};
}

using Curve = CurveLanes (*)(Lanes);

template <Curve kF>
TRAINYARD_INLINE void gated_loop(const Gated& g, float* y) {
  for (std::int64_t r = 0; r < g.rows; ++r)
    each_lane(
        g.n, y + r * g.n, false, [](Lanes a, Lanes u) TRAINYARD_INLINED { return kF(a).value * u; },
        g.gate + r * g.stride, g.up + r * g.stride);
}
template <Curve kF>
TRAINYARD_INLINE void gated_slope_loop(const Gated& g, const float* dy, const Target& gate,
                                       const Target& up, float* gate_at, float* up_at) {
  for (std::int64_t r = 0; r < g.rows; ++r) {
    const float *a = g.gate + r * g.stride, *u = g.up + r * g.stride, *d = dy + r * g.n;
    if (gate)
      each_lane(
          g.n, gate_at + r * g.stride, gate.add,
          [](Lanes x, Lanes v, Lanes w) TRAINYARD_INLINED { return w * kF(x).slope * v; }, a, u, d);
    if (up)
      each_lane(
          g.n, up_at + r * g.stride, up.add,
          [](Lanes x, Lanes w) TRAINYARD_INLINED { return w * kF(x).value; }, a, d);
  }
}

TRAINYARD_VECTORISED void silu_loop(const Gated& g, float* y) { gated_loop<silu_lanes>(g, y); }
TRAINYARD_VECTORISED void gated_gelu_loop(const Gated& g, float* y) {
  gated_loop<gelu_lanes>(g, y);
}
TRAINYARD_VECTORISED void silu_slope_loop(const Gated& g, const float* dy, const Target& gate,
                                          const Target& up, float* gate_at, float* up_at) {
  gated_slope_loop<silu_lanes>(g, dy, gate, up, gate_at, up_at);
}
TRAINYARD_VECTORISED void gated_gelu_slope_loop(const Gated& g, const float* dy, const Target& gate,
                                                const Target& up, float* gate_at, float* up_at) {
  gated_slope_loop<gelu_lanes>(g, dy, gate, up, gate_at, up_at);
}

template <void (*kLoop)(const Gated&, float*)>
void gated_forward(const KernelCall& call) {
  kLoop(gated(call), output(call).f32());
}
template <void (*kLoop)(const Gated&, const float*, const Target&, const Target&, float*, float*)>
void gated_backward(const KernelCall& call) {
  const Gated g = gated(call);
  const bool joined = call.node.inputs.size() == 1;
  const Target gate = target(call, 0), up = joined ? gate : target(call, 1);
  kLoop(g, output_gradient(call).f32(), gate, up, gate.view.f32(),
        joined && up ? up.view.f32() + g.n : up.view.f32());
}

}  // namespace

CpuKernel gelu_kernel() { return without_parameters(gelu_forward, gelu_backward); }
CpuKernel relu_kernel() { return without_parameters(relu_forward, relu_backward); }
CpuKernel squared_relu_kernel() {
  return without_parameters(squared_relu_forward, squared_relu_backward);
}
CpuKernel tanh_kernel() { return without_parameters(tanh_forward, tanh_backward); }
CpuKernel gated_silu_kernel() {
  return without_parameters(gated_forward<silu_loop>, gated_backward<silu_slope_loop>);
}
CpuKernel gated_gelu_kernel() {
  return without_parameters(gated_forward<gated_gelu_loop>, gated_backward<gated_gelu_slope_loop>);
}

}  // namespace trainyard
