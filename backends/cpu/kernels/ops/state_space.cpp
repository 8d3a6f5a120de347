// The state space of Mamba 2, token by token: a head's state is a row of `state` elements for each
// of its `width`. Backward makes all states of a head again and walks back through them.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/rows.h"

namespace trainyard {
namespace {

class StateSpace {
 public:
  explicit StateSpace(const KernelCall& call)
      : call_(call),
        steps_(input(call, 0).size[0]),
        batch_(input(call, 0).size[1]),
        heads_(width(input(call, 1))),
        width_(width(input(call, 0)) / heads_),
        state_(call.graph[call.node.inputs[2]].shape.back().size /
               attribute(call.node, "groups", 1)),
        groups_(width(input(call, 2)) / state_) {}

  void forward() {
    float* state = call_.scratch.floats(size());
    float* y = output(call_).f32();
    each_head([&](std::int64_t b, std::int64_t h) {
      std::fill_n(state, size(), 0.0f);
      for (std::int64_t t = 0; t < steps_; ++t) {
        step(t, b, h, state);
        const float *x = xs(t, b, h), *c = group(3, t, b, h);
        for (std::int64_t i = 0; i < width_; ++i)
          y[head(t, b, h) * width_ + i] =
              parameter(5, h) * x[i] + product_of_rows(state_, c, state + i * state_);
      }
    });
  }

  void backward() {
    for (std::size_t i = 0; i < 7; ++i) {
      to_[i] = target(call_, i);
      if (to_[i] && !to_[i].add) std::fill_n(to_[i].view.f32(), to_[i].view.elements(), 0.0f);
    }
    float* states = call_.scratch.floats((steps_ + 1) * size());
    float* flow = call_.scratch.floats(size());
    float* unwanted = call_.scratch.floats(state_);
    each_head([&](std::int64_t b, std::int64_t h) {
      std::fill_n(states, size(), 0.0f);
      for (std::int64_t t = 0; t < steps_; ++t) {
        std::copy_n(states + t * size(), size(), states + (t + 1) * size());
        step(t, b, h, states + (t + 1) * size());
      }
      std::fill_n(flow, size(), 0.0f);
      for (std::int64_t t = steps_; t-- > 0;) back(t, b, h, states + t * size(), flow, unwanted);
    });
  }

 private:
  std::int64_t size() const { return width_ * state_; }
  std::int64_t head(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return (t * batch_ + b) * heads_ + h;
  }
  std::int64_t group_at(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return ((t * batch_ + b) * groups_ + h * groups_ / heads_) * state_;
  }
  const float* xs(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return input(call_, 0).f32() + head(t, b, h) * width_;
  }
  const float* group(std::size_t which, std::int64_t t, std::int64_t b, std::int64_t h) const {
    return input(call_, which).f32() + group_at(t, b, h);
  }
  float parameter(std::size_t which, std::int64_t h) const { return input(call_, which).f32()[h]; }
  float raw(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return input(call_, 1).f32()[head(t, b, h)] + parameter(6, h);
  }
  template <class F>
  void each_head(F&& f) const {
    for (std::int64_t b = 0; b < batch_; ++b)
      for (std::int64_t h = 0; h < heads_; ++h) f(b, h);
  }

  void step(std::int64_t t, std::int64_t b, std::int64_t h, float* state) const {
    const float dt = softplus(raw(t, b, h)), decay = std::exp(-std::exp(parameter(4, h)) * dt);
    const float *x = xs(t, b, h), *into = group(2, t, b, h);
    scale_row(size(), decay, state);
    for (std::int64_t i = 0; i < width_; ++i) add_row(state_, dt * x[i], into, state + i * state_);
  }

  // `before` is the state before the token and, behind it, the one after.
  void back(std::int64_t t, std::int64_t b, std::int64_t h, const float* before, float* flow,
            float* unwanted) {
    const float rate = std::exp(parameter(4, h)), dt = softplus(raw(t, b, h)),
                decay = std::exp(-rate * dt);
    const float *x = xs(t, b, h), *into = group(2, t, b, h), *out = group(3, t, b, h),
                *dy = output_gradient(call_).f32() + head(t, b, h) * width_;
    const auto rows_of = [&](std::size_t i) {
      return to_[i] ? to_[i].view.f32() + group_at(t, b, h) : unwanted;
    };
    float *d_into = rows_of(2), *d_out = rows_of(3);
    float d_decay = 0, d_dt = 0, d_straight = 0;
    for (std::int64_t i = 0; i < width_; ++i) {
      float* g = flow + i * state_;
      add_row(state_, dy[i], out, g);
      add_row(state_, dy[i], before + size() + i * state_, d_out);
      add_row(state_, dt * x[i], g, d_into);
      d_decay += product_of_rows(state_, g, before + i * state_);
      const float taken = product_of_rows(state_, g, into);
      d_dt += taken * x[i];
      d_straight += x[i] * dy[i];
      if (to_[0])
        to_[0].view.f32()[head(t, b, h) * width_ + i] += dt * taken + parameter(5, h) * dy[i];
    }
    scale_row(size(), decay, flow);
    d_dt -= d_decay * decay * rate;
    const float d_raw = d_dt / (1 + std::exp(-raw(t, b, h)));
    const auto add = [&](std::size_t i, std::int64_t place, float value) {
      if (to_[i]) to_[i].view.f32()[place] += value;
    };
    add(1, head(t, b, h), d_raw);
    add(4, h, -d_decay * decay * dt * rate);
    add(5, h, d_straight);
    add(6, h, d_raw);
  }

  const KernelCall& call_;
  const std::int64_t steps_, batch_, heads_, width_, state_, groups_;
  Target to_[7];
};

void state_space_forward(const KernelCall& call) { StateSpace(call).forward(); }
void state_space_backward(const KernelCall& call) { StateSpace(call).backward(); }

}  // namespace

CpuKernel state_space_kernel() {
  return without_parameters(state_space_forward, state_space_backward);
}

}  // namespace trainyard
