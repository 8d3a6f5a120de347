// The gated delta rule, token by token: a head's state is a row of values for each element of a
// key. Backward makes all states of a head again and walks back through them.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/rows.h"

namespace trainyard {
namespace {

constexpr float kUnitEpsilon = 1e-6f;

class GatedDelta {
 public:
  explicit GatedDelta(const KernelCall& call)
      : call_(call),
        steps_(input(call, 2).size[0]),
        batch_(input(call, 2).size[1]),
        heads_(width(input(call, 3))),
        key_(call.graph[call.node.inputs[0]].shape.back().size /
             attribute(call.node, "key_heads", attribute(call.node, "heads", 1))),
        value_(width(input(call, 2)) / heads_),
        key_heads_(width(input(call, 0)) / key_),
        factor_(1 / std::sqrt(static_cast<float>(key_))),
        q_(call.scratch.floats(key_)),
        k_(call.scratch.floats(key_)),
        lacks_(call.scratch.floats(value_)) {}

  void forward() {
    float* state = call_.scratch.floats(size());
    float* y = output(call_).f32();
    each_head([&](std::int64_t b, std::int64_t h) {
      std::fill_n(state, size(), 0.0f);
      for (std::int64_t t = 0; t < steps_; ++t) {
        step(t, b, h, state);
        unit(0, t, b, h, q_);
        float* out = y + head(t, b, h) * value_;
        std::fill_n(out, value_, 0.0f);
        for (std::int64_t i = 0; i < key_; ++i)
          add_row(value_, factor_ * q_[i], state + i * value_, out);
      }
    });
  }

  void backward() {
    for (std::size_t i = 0; i < 7; ++i) {
      to_[i] = target(call_, i);
      if (to_[i] && !to_[i].add) std::fill_n(to_[i].view.f32(), to_[i].view.elements(), 0.0f);
    }
    float* states = call_.scratch.floats((steps_ + 1) * size());
    flow_ = call_.scratch.floats(size());
    decayed_ = call_.scratch.floats(size());
    dq_ = call_.scratch.floats(key_), dk_ = call_.scratch.floats(key_);
    taken_ = call_.scratch.floats(value_);
    each_head([&](std::int64_t b, std::int64_t h) {
      std::fill_n(states, size(), 0.0f);
      for (std::int64_t t = 0; t < steps_; ++t) {
        std::copy_n(states + t * size(), size(), states + (t + 1) * size());
        step(t, b, h, states + (t + 1) * size());
      }
      std::fill_n(flow_, size(), 0.0f);
      for (std::int64_t t = steps_; t-- > 0;) back(t, b, h, states + t * size());
    });
  }

 private:
  std::int64_t size() const { return key_ * value_; }
  std::int64_t head(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return (t * batch_ + b) * heads_ + h;
  }
  std::int64_t key_at(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return ((t * batch_ + b) * key_heads_ + h * key_heads_ / heads_) * key_;
  }
  float number(std::size_t which, std::int64_t place) const {
    return input(call_, which).f32()[place];
  }
  float raw(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return number(4, head(t, b, h)) + number(6, h);
  }
  float strength(std::int64_t t, std::int64_t b, std::int64_t h) const {
    return 1 / (1 + std::exp(-number(3, head(t, b, h))));
  }
  template <class F>
  void each_head(F&& f) const {
    for (std::int64_t b = 0; b < batch_; ++b)
      for (std::int64_t h = 0; h < heads_; ++h) f(b, h);
  }
  // Writes the query or key of length 1, and returns its length before.
  float unit(std::size_t which, std::int64_t t, std::int64_t b, std::int64_t h, float* made) const {
    const float* from = input(call_, which).f32() + key_at(t, b, h);
    const float length = std::sqrt(product_of_rows(key_, from, from) + kUnitEpsilon);
    for (std::int64_t i = 0; i < key_; ++i) made[i] = from[i] / length;
    return length;
  }
  // The part of the token's value that the state does not have yet.
  void miss(std::int64_t t, std::int64_t b, std::int64_t h, const float* decayed) const {
    std::copy_n(input(call_, 2).f32() + head(t, b, h) * value_, value_, lacks_);
    for (std::int64_t i = 0; i < key_; ++i) add_row(value_, -k_[i], decayed + i * value_, lacks_);
  }

  void step(std::int64_t t, std::int64_t b, std::int64_t h, float* state) const {
    const float span = softplus(raw(t, b, h));
    scale_row(size(), std::exp(-std::exp(number(5, h)) * span), state);
    unit(1, t, b, h, k_);
    miss(t, b, h, state);
    for (std::int64_t i = 0; i < key_; ++i)
      add_row(value_, k_[i] * strength(t, b, h), lacks_, state + i * value_);
  }

  // `before` is the state before the token and, behind it, the one after.
  void back(std::int64_t t, std::int64_t b, std::int64_t h, const float* before) {
    const float rate = std::exp(number(5, h)), span = softplus(raw(t, b, h)),
                decay = std::exp(-rate * span), takes = strength(t, b, h),
                q_length = unit(0, t, b, h, q_), k_length = unit(1, t, b, h, k_);
    const float* dy = output_gradient(call_).f32() + head(t, b, h) * value_;
    std::copy_n(before, size(), decayed_);
    scale_row(size(), decay, decayed_);
    miss(t, b, h, decayed_);
    std::fill_n(taken_, value_, 0.0f);
    for (std::int64_t i = 0; i < key_; ++i) {
      float* g = flow_ + i * value_;
      dq_[i] = factor_ * product_of_rows(value_, before + size() + i * value_, dy);
      add_row(value_, factor_ * q_[i], dy, g);
      add_row(value_, k_[i], g, taken_);
      dk_[i] = takes * product_of_rows(value_, g, lacks_);
    }
    const float d_takes = product_of_rows(value_, taken_, lacks_);
    if (to_[2]) add_row(value_, takes, taken_, to_[2].view.f32() + head(t, b, h) * value_);
    float d_decay = 0;
    for (std::int64_t i = 0; i < key_; ++i) {
      float* g = flow_ + i * value_;
      add_row(value_, -k_[i] * takes, taken_, g);
      dk_[i] -= takes * product_of_rows(value_, decayed_ + i * value_, taken_);
      d_decay += product_of_rows(value_, g, before + i * value_);
    }
    scale_row(size(), decay, flow_);
    give(0, key_at(t, b, h), q_, q_length, dq_);
    give(1, key_at(t, b, h), k_, k_length, dk_);
    const float d_raw = -d_decay * decay * rate / (1 + std::exp(-raw(t, b, h)));
    const auto add = [&](std::size_t i, std::int64_t place, float value) {
      if (to_[i]) to_[i].view.f32()[place] += value;
    };
    add(3, head(t, b, h), d_takes * takes * (1 - takes));
    add(4, head(t, b, h), d_raw);
    add(5, h, -d_decay * decay * rate * span);
    add(6, h, d_raw);
  }

  // Adds the gradient of a query or key, given that of its unit.
  void give(std::size_t which, std::int64_t place, const float* made, float length,
            const float* d) {
    if (!to_[which]) return;
    const float along = product_of_rows(key_, made, d);
    for (std::int64_t i = 0; i < key_; ++i)
      to_[which].view.f32()[place + i] += (d[i] - made[i] * along) / length;
  }

  const KernelCall& call_;
  const std::int64_t steps_, batch_, heads_, key_, value_, key_heads_;
  const float factor_;
  float *q_, *k_, *lacks_;
  float *flow_ = nullptr, *decayed_ = nullptr, *dq_ = nullptr, *dk_ = nullptr, *taken_ = nullptr;
  Target to_[7];
};

void gated_delta_forward(const KernelCall& call) { GatedDelta(call).forward(); }
void gated_delta_backward(const KernelCall& call) { GatedDelta(call).backward(); }

}  // namespace

CpuKernel gated_delta_kernel() {
  return without_parameters(gated_delta_forward, gated_delta_backward);
}

}  // namespace trainyard
