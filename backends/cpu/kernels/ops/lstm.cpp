// Long short-term memory: each step is a small product and the activation functions of the gates.
// Kept gates are after their activation, kept cells before it.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/small_product.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

// The rows of one step and sample: four gates of `hidden` elements each, side by side.
TRAINYARD_VECTORISED void step_forward(std::int64_t batch, std::int64_t hidden, const float* x,
                                       const float* product, std::int64_t product_row,
                                       const float* cells_before, float* gates, float* cells,
                                       float* out) {
  for (std::int64_t b = 0; b < batch; ++b) {
    const float *from = x + b * 4 * hidden, *recurrent = product + b * product_row;
    float *in = gates + b * 4 * hidden, *forget = in + hidden, *candidate = forget + hidden,
          *output = candidate + hidden, *cell = cells + b * hidden;
    const float* before = cells_before + b * hidden;
    const auto curve = [](Lanes p, Lanes q) TRAINYARD_INLINED { return logistic(p + q); };
    each_lane(2 * hidden, in, false, curve, from, recurrent);
    each_lane(
        hidden, candidate, false,
        [](Lanes p, Lanes q) TRAINYARD_INLINED { return hyperbolic_tangent(p + q); },
        from + 2 * hidden, recurrent + 2 * hidden);
    each_lane(hidden, output, false, curve, from + 3 * hidden, recurrent + 3 * hidden);
    each_lane(
        hidden, cell, false,
        [](Lanes i, Lanes f, Lanes g, Lanes c) TRAINYARD_INLINED { return f * c + i * g; }, in,
        forget, candidate, before);
    each_lane(
        hidden, out + b * hidden, false,
        [](Lanes o, Lanes c) TRAINYARD_INLINED { return o * hyperbolic_tangent(c); }, output, cell);
  }
}

// d: gradients of the gates before their activation. d_cell is that of the next step on entry, and
// of this step on return.
TRAINYARD_VECTORISED void step_backward(std::int64_t batch, std::int64_t hidden, const float* d_out,
                                        std::int64_t d_out_row, const float* gates,
                                        const float* cells, const float* cells_before,
                                        float* d_cell, float* d, std::int64_t d_row) {
  for (std::int64_t b = 0; b < batch; ++b, d += d_row, d_cell += hidden) {
    const float *in = gates + b * 4 * hidden, *forget = in + hidden, *candidate = forget + hidden,
                *output = candidate + hidden, *cell = cells + b * hidden,
                *before = cells_before + b * hidden, *dh = d_out + b * d_out_row;
    each_lane(
        hidden, d_cell, true,
        [](Lanes e, Lanes o, Lanes c) TRAINYARD_INLINED {
          const Lanes t = hyperbolic_tangent(c);
          return e * o * (1 - t * t);
        },
        dh, output, cell);
    each_lane(
        hidden, d, false,
        [](Lanes e, Lanes g, Lanes i) TRAINYARD_INLINED { return e * g * i * (1 - i); }, d_cell,
        candidate, in);
    each_lane(
        hidden, d + hidden, false,
        [](Lanes e, Lanes c, Lanes f) TRAINYARD_INLINED { return e * c * f * (1 - f); }, d_cell,
        before, forget);
    each_lane(
        hidden, d + 2 * hidden, false,
        [](Lanes e, Lanes i, Lanes g) TRAINYARD_INLINED { return e * i * (1 - g * g); }, d_cell, in,
        candidate);
    each_lane(
        hidden, d + 3 * hidden, false,
        [](Lanes e, Lanes c, Lanes o)
            TRAINYARD_INLINED { return e * hyperbolic_tangent(c) * o * (1 - o); },
        dh, cell, output);
    each_lane(
        hidden, d_cell, false, [](Lanes e, Lanes f) TRAINYARD_INLINED { return e * f; }, d_cell,
        forget);
  }
}

struct LstmSizes {
  std::int64_t steps, batch, hidden, padded_gates, padded_hidden;
  explicit LstmSizes(const TensorView& out)
      : steps(out.size[0]),
        batch(out.size[1]),
        hidden(out.size[2]),
        padded_gates(padded(4 * hidden)),
        padded_hidden(padded(hidden)) {}
  std::int64_t step() const { return batch * hidden; }
};

float* zeros(const KernelCall& call, std::int64_t count) {
  float* made = call.scratch.floats(count);
  std::fill_n(made, count, 0.0f);
  return made;
}
float* fact(const KernelCall& call, std::string_view what) {
  return static_cast<float*>(needed_fact(call, what).data);
}

void lstm_forward(const KernelCall& call) {
  const TensorView& out = output(call);
  const LstmSizes s(out);
  float *gates = fact(call, "gates"), *cells = fact(call, "cells");
  float* weight = call.scratch.floats(s.hidden * s.padded_gates);
  copy_rows(s.hidden, 4 * s.hidden, s.padded_gates, 1, input(call, 1).f32(), 4 * s.hidden, weight,
            s.padded_gates);
  float *product = zeros(call, s.batch * s.padded_gates), *none = zeros(call, s.step());
  for (std::int64_t t = 0; t < s.steps; ++t) {
    const std::int64_t at = t * s.step();
    if (t > 0)
      small_product(s.batch, s.padded_gates, s.hidden, out.f32() + at - s.step(), s.hidden, 1,
                    weight, s.padded_gates, product, s.padded_gates, false);
    step_forward(s.batch, s.hidden, input(call, 0).f32() + 4 * at, product, s.padded_gates,
                 t > 0 ? cells + at - s.step() : none, gates + 4 * at, cells + at, out.f32() + at);
  }
}

// Gradients of the gates before their activation, in rows padded to whole lanes.
float* gate_gradients(const KernelCall& call, const LstmSizes& s) {
  const float *gates = fact(call, "gates"), *cells = fact(call, "cells"),
              *dy = output_gradient(call).f32();
  float* turned = zeros(call, 4 * s.hidden * s.padded_hidden);
  transpose(s.hidden, 4 * s.hidden, input(call, 1).f32(), 4 * s.hidden, turned, s.padded_hidden);
  float* all = zeros(call, s.steps * s.batch * s.padded_gates);
  float *d_out = zeros(call, s.batch * s.padded_hidden), *d_cell = zeros(call, s.step()),
        *none = zeros(call, s.step());
  for (std::int64_t t = s.steps; t-- > 0;) {
    const std::int64_t at = t * s.step();
    float* d = all + t * s.batch * s.padded_gates;
    if (t + 1 < s.steps)
      small_product(s.batch, s.padded_hidden, 4 * s.hidden, d + s.batch * s.padded_gates,
                    s.padded_gates, 1, turned, s.padded_hidden, d_out, s.padded_hidden, false);
    give_rows(s.batch, s.hidden, dy + at, s.hidden, d_out, s.padded_hidden, true);
    step_backward(s.batch, s.hidden, d_out, s.padded_hidden, gates + 4 * at, cells + at,
                  t > 0 ? cells + at - s.step() : none, d_cell, d, s.padded_gates);
  }
  return all;
}

void lstm_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const LstmSizes s(output_gradient(call));
  const float* d = gate_gradients(call, s);
  give_rows(s.steps * s.batch, 4 * s.hidden, d, s.padded_gates, dx.view.f32(), 4 * s.hidden,
            dx.add);
}

void lstm_backward_weight(const KernelCall& call) {
  const Target dw = target(call, 1);
  const LstmSizes s(output_gradient(call));
  if (!dw || s.steps < 2) return;
  const float* d = nullptr;
  if (const Target made = target(call, 0)) {  // they are also the gradient of the input
    float* rows = zeros(call, s.steps * s.batch * s.padded_gates);
    copy_rows(s.steps * s.batch, 4 * s.hidden, s.padded_gates, 1, made.view.f32(), 4 * s.hidden,
              rows, s.padded_gates);
    d = rows;
  } else {
    d = gate_gradients(call, s);
  }
  const float* out = output(call).f32();
  float* sum = zeros(call, s.hidden * s.padded_gates);
  for (std::int64_t t = 1; t < s.steps; ++t)
    small_product(s.hidden, s.padded_gates, s.batch, out + (t - 1) * s.step(), 1, s.hidden,
                  d + t * s.batch * s.padded_gates, s.padded_gates, sum, s.padded_gates, true);
  give_rows(s.hidden, 4 * s.hidden, sum, s.padded_gates, dw.view.f32(), 4 * s.hidden, true);
}

}  // namespace

CpuKernel lstm_kernel() {
  CpuKernel made;
  made.forward = lstm_forward;
  made.backward_input = lstm_backward_input;
  made.backward_weight = lstm_backward_weight;
  return made;
}

}  // namespace trainyard
