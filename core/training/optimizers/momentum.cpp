// This file has gradient descent, plain and with momentum: v <- mu v + g, w <- w - rate v.
// Nesterov's variant looks ahead by one velocity, w <- w - rate (g + mu v) (Sutskever et al., ICML
// 2013). A gradient that comes late by D updates brings the momentum that it has missed in them at
// once: w <- w - rate (a v + b g) with a = mu^D and b = (1 - a) / (1 - mu) (spike compensation,
// Kosson et al., MLSys 2021), of which Nesterov's is the case D = 1.
#include <cmath>

#include "core/base/vectorised.h"
#include "core/training/optimizers/stretch_rule.h"

namespace trainyard {
namespace {

struct MomentumNumbers {
  float rate, scale, decay, momentum, ahead_velocity, ahead_gradient;
};

TRAINYARD_VECTORISED void descend(MomentumNumbers k, const float* __restrict w,
                                  const float* __restrict g, float* __restrict u, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) u[i] = k.rate * (k.scale * g[i] + k.decay * w[i]);
}

TRAINYARD_VECTORISED void roll(MomentumNumbers k, const float* __restrict w,
                               const float* __restrict g, float* __restrict v, float* __restrict u,
                               std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float gradient = k.scale * g[i] + k.decay * w[i];
    const float velocity = k.momentum * v[i] + gradient;
    v[i] = velocity;
    u[i] = k.rate * (k.ahead_velocity * velocity + k.ahead_gradient * gradient);
  }
}

MomentumNumbers numbers(const Training& training, const ParameterPart& part,
                        const StepFacts& facts) {
  const double of_velocity =
      std::pow(training.momentum, facts.missed + (training.nesterov ? 1 : 0));
  return {static_cast<float>(facts.rate),
          static_cast<float>(facts.gradient_scale),
          static_cast<float>(part.decays ? training.weight_decay : 0),
          static_cast<float>(training.momentum),
          static_cast<float>(of_velocity),
          static_cast<float>((1 - of_velocity) / (1 - training.momentum))};
}

class Sgd final : public StretchRule {
 public:
  using StretchRule::StretchRule;
  std::string_view name() const override { return "sgd"; }
  std::vector<std::string_view> moments() const override { return {}; }
  void step(const ParameterPart& part, const StepFacts& facts, const TensorNorms&,
            const Stretch& s) const override {
    descend(numbers(training(), part, facts), s.weights, s.gradients, s.step, s.count);
  }
};

class Momentum final : public StretchRule {
 public:
  using StretchRule::StretchRule;
  std::string_view name() const override { return "momentum"; }
  std::vector<std::string_view> moments() const override { return {"momentum"}; }
  void step(const ParameterPart& part, const StepFacts& facts, const TensorNorms&,
            const Stretch& s) const override {
    roll(numbers(training(), part, facts), s.weights, s.gradients, s.state[0], s.step, s.count);
  }
};

}  // namespace

std::unique_ptr<OptimizerRule> sgd(const Training& training, WeightUpdate how) {
  return std::make_unique<Sgd>(training, how);
}
std::unique_ptr<OptimizerRule> momentum(const Training& training, WeightUpdate how) {
  return std::make_unique<Momentum>(training, how);
}

}  // namespace trainyard
