// Lion takes the sign of an interpolated momentum, with decoupled decay (Chen et al., NeurIPS
// 2023). Its usual betas are 0.9 and 0.99.
#include "core/base/vectorised.h"
#include "core/training/optimizers/stretch_rule.h"

namespace trainyard {
namespace {

struct LionNumbers {
  float rate, scale, apart, beta1, beta1_rest, beta2, beta2_rest;
};

TRAINYARD_VECTORISED void lion_steps(LionNumbers k, const float* __restrict w,
                                     const float* __restrict g, float* __restrict m,
                                     float* __restrict u, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float gradient = k.scale * g[i];
    const float mixed = k.beta1 * m[i] + k.beta1_rest * gradient;
    const float sign = static_cast<float>(mixed > 0) - static_cast<float>(mixed < 0);
    m[i] = k.beta2 * m[i] + k.beta2_rest * gradient;
    u[i] = k.rate * sign + k.apart * w[i];
  }
}

class Lion final : public StretchRule {
 public:
  using StretchRule::StretchRule;
  std::string_view name() const override { return "lion"; }
  std::vector<std::string_view> moments() const override { return {"momentum"}; }
  void step(const ParameterPart& part, const StepFacts& facts, const TensorNorms&,
            const Stretch& s) const override {
    const Training& all = training();
    lion_steps({static_cast<float>(facts.rate), static_cast<float>(facts.gradient_scale),
                static_cast<float>(part.decays ? facts.rate * all.weight_decay : 0),
                static_cast<float>(all.beta1), static_cast<float>(1 - all.beta1),
                static_cast<float>(all.beta2), static_cast<float>(1 - all.beta2)},
               s.weights, s.gradients, s.state[0], s.step, s.count);
  }
};

}  // namespace

std::unique_ptr<OptimizerRule> lion(const Training& training, WeightUpdate how) {
  return std::make_unique<Lion>(training, how);
}

}  // namespace trainyard
