// The scan of the first Mamba, token by token: a channel's state is a row of `state` numbers that
// decay each at its own rate. Backward makes all states of a channel again and walks back.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/rows.h"

namespace trainyard {
namespace {

class SelectiveScan {
 public:
  explicit SelectiveScan(const KernelCall& call)
      : call_(call),
        steps_(input(call, 0).size[0]),
        batch_(input(call, 0).size[1]),
        channels_(width(input(call, 0))),
        state_(width(input(call, 2))),
        rates_(call.scratch.floats(state_)) {}

  void forward() {
    float* state = call_.scratch.floats(state_);
    float* y = output(call_).f32();
    each_channel([&](std::int64_t b, std::int64_t e) {
      std::fill_n(state, state_, 0.0f);
      for (std::int64_t t = 0; t < steps_; ++t) {
        step(t, b, e, state);
        const std::int64_t i = at(t, b, e);
        y[i] = operand(5)[e] * operand(0)[i] + product_of_rows(state_, row(3, t, b), state);
      }
    });
  }

  void backward() {
    for (std::size_t i = 0; i < 6; ++i) {
      to_[i] = target(call_, i);
      if (to_[i] && !to_[i].add) std::fill_n(to_[i].view.f32(), to_[i].view.elements(), 0.0f);
    }
    float* states = call_.scratch.floats((steps_ + 1) * state_);
    float* flow = call_.scratch.floats(state_);
    each_channel([&](std::int64_t b, std::int64_t e) {
      std::fill_n(states, state_, 0.0f);
      for (std::int64_t t = 0; t < steps_; ++t) {
        std::copy_n(states + t * state_, state_, states + (t + 1) * state_);
        step(t, b, e, states + (t + 1) * state_);
      }
      std::fill_n(flow, state_, 0.0f);
      for (std::int64_t t = steps_; t-- > 0;) back(t, b, e, states + t * state_, flow);
    });
  }

 private:
  const float* operand(std::size_t i) const { return input(call_, i).f32(); }
  std::int64_t at(std::int64_t t, std::int64_t b, std::int64_t e) const {
    return (t * batch_ + b) * channels_ + e;
  }
  const float* row(std::size_t i, std::int64_t t, std::int64_t b) const {
    return operand(i) + (t * batch_ + b) * state_;
  }
  template <class F>
  void each_channel(F&& f) {
    for (std::int64_t e = 0; e < channels_; ++e) {
      for (std::int64_t j = 0; j < state_; ++j) rates_[j] = std::exp(operand(4)[e * state_ + j]);
      for (std::int64_t b = 0; b < batch_; ++b) f(b, e);
    }
  }

  void step(std::int64_t t, std::int64_t b, std::int64_t e, float* state) const {
    const std::int64_t i = at(t, b, e);
    const float span = softplus(operand(1)[i]);
    for (std::int64_t j = 0; j < state_; ++j) state[j] *= std::exp(-rates_[j] * span);
    add_row(state_, span * operand(0)[i], row(2, t, b), state);
  }

  // `before` is the state before the token and, behind it, the one after.
  void back(std::int64_t t, std::int64_t b, std::int64_t e, const float* before, float* flow) {
    const std::int64_t i = at(t, b, e), r = (t * batch_ + b) * state_;
    const float x = operand(0)[i], dy = output_gradient(call_).f32()[i],
                span = softplus(operand(1)[i]);
    const auto part = [&](std::size_t which, std::int64_t place) {
      return to_[which] ? to_[which].view.f32() + place : nullptr;
    };
    add_row(state_, dy, row(3, t, b), flow);
    if (float* d = part(3, r)) add_row(state_, dy, before + state_, d);
    if (float* d = part(2, r)) add_row(state_, span * x, flow, d);
    const float taken = product_of_rows(state_, flow, row(2, t, b));
    float d_span = taken * x;
    for (std::int64_t j = 0; j < state_; ++j) {
      const float decay = std::exp(-rates_[j] * span),
                  d_decay = flow[j] * before[j] * decay * rates_[j];
      d_span -= d_decay;
      if (float* d = part(4, e * state_ + j)) *d -= d_decay * span;
      flow[j] *= decay;
    }
    if (float* d = part(0, i)) *d += span * taken + operand(5)[e] * dy;
    if (float* d = part(1, i)) *d += d_span / (1 + std::exp(-operand(1)[i]));
    if (float* d = part(5, e)) *d += dy * x;
  }

  const KernelCall& call_;
  const std::int64_t steps_, batch_, channels_, state_;
  float* rates_;
  Target to_[6];
};

void selective_scan_forward(const KernelCall& call) { SelectiveScan(call).forward(); }
void selective_scan_backward(const KernelCall& call) { SelectiveScan(call).backward(); }

}  // namespace

CpuKernel selective_scan_kernel() {
  return without_parameters(selective_scan_forward, selective_scan_backward);
}

}  // namespace trainyard
