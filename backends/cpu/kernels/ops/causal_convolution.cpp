// Each channel convolved over the last tokens, then silu: the taps are rows of channels.
#include <algorithm>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

TRAINYARD_VECTORISED void add_tap(std::int64_t n, const float* x, const float* w, float* y) {
  each_lane(n, y, true, [](Lanes a, Lanes b) TRAINYARD_INLINED { return a * b; }, x, w);
}
TRAINYARD_VECTORISED void silu_of(std::int64_t n, const float* x, float* y) {
  each_lane(n, y, false, [](Lanes a) TRAINYARD_INLINED { return silu_lanes(a).value; }, x);
}
TRAINYARD_VECTORISED void silu_slope_of(std::int64_t n, const float* x, const float* dy, float* d) {
  each_lane(
      n, d, false, [](Lanes a, Lanes e) TRAINYARD_INLINED { return e * silu_lanes(a).slope; }, x,
      dy);
}

// The call's sizes, with the taps turned so that each is a row of channels.
struct Taps {
  const KernelCall& call;
  std::int64_t steps, batch, channels, taps;
  float* turned;

  explicit Taps(const KernelCall& c)
      : call(c),
        steps(input(c, 0).size[0]),
        batch(input(c, 0).size[1]),
        channels(width(input(c, 0))),
        taps(input(c, 1).size[1]),
        turned(c.scratch.floats(taps * channels)) {
    const float* w = input(c, 1).f32();
    for (std::int64_t e = 0; e < channels; ++e)
      for (std::int64_t k = 0; k < taps; ++k) turned[k * channels + e] = w[e * taps + k];
  }
  std::int64_t row() const { return batch * channels; }
  /// Calls f(tap, row of the token, row of the token that the tap meets).
  template <class F>
  void each(F&& f) const {
    for (std::int64_t t = 0; t < steps; ++t)
      for (std::int64_t k = std::max<std::int64_t>(0, taps - 1 - t); k < taps; ++k)
        for (std::int64_t b = 0; b < batch; ++b)
          f(k, (t * batch + b) * channels, ((t - taps + 1 + k) * batch + b) * channels);
  }
  /// The sums before silu.
  float* sums() const {
    const float* x = input(call, 0).f32();
    float* made = call.scratch.floats(steps * row());
    const float* bias = call.node.inputs.size() == 3 ? input(call, 2).f32() : nullptr;
    for (std::int64_t r = 0; r < steps * batch; ++r)
      bias != nullptr ? std::copy_n(bias, channels, made + r * channels)
                      : std::fill_n(made + r * channels, channels, 0.0f);
    each([&](std::int64_t k, std::int64_t to, std::int64_t from) {
      add_tap(channels, x + from, turned + k * channels, made + to);
    });
    return made;
  }
  float* sum_gradients() const {
    float* made = sums();
    silu_slope_of(steps * row(), made, output_gradient(call).f32(), made);
    return made;
  }
};

void causal_convolution_forward(const KernelCall& call) {
  const Taps taps(call);
  silu_of(taps.steps * taps.row(), taps.sums(), output(call).f32());
}

void causal_convolution_backward(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const Taps taps(call);
  const float* d = taps.sum_gradients();
  if (!dx.add) std::fill_n(dx.view.f32(), dx.view.elements(), 0.0f);
  taps.each([&](std::int64_t k, std::int64_t to, std::int64_t from) {
    add_tap(taps.channels, d + to, taps.turned + k * taps.channels, dx.view.f32() + from);
  });
}

void causal_convolution_backward_weight(const KernelCall& call) {
  const Target dw = target(call, 1), db = target(call, 2);
  if (!dw && !db) return;
  const Taps taps(call);
  const float *d = taps.sum_gradients(), *x = input(call, 0).f32();
  const std::int64_t n = taps.channels;
  float* sums = call.scratch.floats(taps.taps * n);
  std::fill_n(sums, taps.taps * n, 0.0f);
  taps.each([&](std::int64_t k, std::int64_t to, std::int64_t from) {
    add_tap(n, d + to, x + from, sums + k * n);
  });
  for (std::int64_t e = 0; dw && e < n; ++e)
    for (std::int64_t k = 0; k < taps.taps; ++k)
      dw.view.f32()[e * taps.taps + k] += sums[k * n + e];
  for (std::int64_t r = 0; db && r < taps.steps * taps.batch; ++r)
    for (std::int64_t e = 0; e < n; ++e) db.view.f32()[e] += d[r * n + e];
}

}  // namespace

CpuKernel causal_convolution_kernel() {
  return {causal_convolution_forward, causal_convolution_backward,
          causal_convolution_backward_weight};
}

}  // namespace trainyard
