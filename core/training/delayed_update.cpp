#include "core/training/delayed_update.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/training/roundings.h"

namespace trainyard {
namespace {

constexpr std::int64_t kTile = 1024;

// Calls f(first, count, their gradients in 4-byte floats).
template <class F>
void each_tile(const DelayedPart& part, F&& f) {
  std::array<float, kTile> tile;
  for (std::int64_t first = 0; first < part.elements; first += kTile) {
    const std::int64_t n = std::min(kTile, part.elements - first);
    if (part.gradient_type == DType::F32) {
      f(first, n, static_cast<const float*>(part.gradients) + first);
      continue;
    }
    const std::span<const std::uint16_t> bits(
        static_cast<const std::uint16_t*>(part.gradients) + first, static_cast<std::size_t>(n));
    part.gradient_type == DType::BF16 ? from_bf16(bits, tile.data()) : from_f16(bits, tile.data());
    f(first, n, tile.data());
  }
}

}  // namespace

bool is_corrected(const UpdateRule& rule) {
  return rule.correct_discrepancy || rule.compensate_spikes || rule.prediction != Prediction::None;
}

void delayed_update(const UpdateRule& rule, const DelayedPart& part, std::int64_t t,
                    double gradient_scale) {
  const auto rate = static_cast<float>(rule.rate_of(t)),
             momentum = static_cast<float>(rule.momentum),
             scale = static_cast<float>(gradient_scale);
  float of_velocity = 1, of_gradient = 0;
  if (rule.compensate_spikes) {
    const double kept = std::pow(rule.momentum, rule.forward_delay);
    of_velocity = static_cast<float>(kept);
    of_gradient = static_cast<float>((1 - kept) / (1 - rule.momentum));
  }
  const double apart = rule.forward_delay - rule.backward_delay;
  const auto kept = static_cast<float>(apart > 0 ? std::pow(rule.decay, 1 / apart) : 0);
  each_tile(part, [&](std::int64_t first, std::int64_t n, const float* gradients) {
    float* w = part.weights + first;
    float* v = part.velocity != nullptr ? part.velocity + first : nullptr;
    float* m = part.motion != nullptr ? part.motion + first : nullptr;
    float* b = part.before != nullptr ? part.before + first : nullptr;
    for (std::int64_t i = 0; i < n; ++i) {
      const float g = gradients[i] * scale;
      const float speed = v != nullptr ? momentum * v[i] + g : g;
      if (v != nullptr) v[i] = speed;
      if (b != nullptr) b[i] = w[i];
      const float step = rate * (of_velocity * speed + of_gradient * g);
      w[i] -= step;
      if (m != nullptr) m[i] = kept * m[i] - (1 - kept) * step;
    }
  });
}

void forward_weights(const UpdateRule& rule, const DelayedPart& part, std::int64_t t, float* into) {
  const double horizon = rule.horizon < 0 ? rule.forward_delay : rule.horizon;
  std::copy_n(part.weights, part.elements, into);
  if (rule.prediction == Prediction::Velocity && part.velocity != nullptr) {
    const auto ahead = static_cast<float>(rule.rate_of(t) * horizon);
    for (std::int64_t i = 0; i < part.elements; ++i) into[i] -= ahead * part.velocity[i];
  }
  if (rule.prediction == Prediction::Weight && part.before != nullptr) {
    const auto ahead = static_cast<float>(horizon);
    for (std::int64_t i = 0; i < part.elements; ++i)
      into[i] += ahead * (part.weights[i] - part.before[i]);
  }
}

void backward_weights(const UpdateRule& rule, const DelayedPart& part, float* into) {
  std::copy_n(part.weights, part.elements, into);
  if (!rule.correct_discrepancy || part.motion == nullptr) return;
  const auto apart = static_cast<float>(rule.forward_delay - rule.backward_delay);
  for (std::int64_t i = 0; i < part.elements; ++i) into[i] -= apart * part.motion[i];
}

}  // namespace trainyard
