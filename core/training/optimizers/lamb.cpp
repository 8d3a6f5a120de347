// LAMB takes Adam's step r (including decoupled decay) and scales it for every tensor so that its
// norm is rate |w|. You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76
// minutes", ICLR 2020; phi is the identity.
#include <cmath>

#include "core/base/vectorised.h"
#include "core/training/optimizers/stretch_rule.h"

namespace trainyard {
namespace {

struct LambNumbers {
  float first, second, epsilon, decay, rate;
};

TRAINYARD_VECTORISED void moments_of(float scale, float beta1, float beta1_rest, float beta2,
                                     float beta2_rest, const float* __restrict g,
                                     float* __restrict m, float* __restrict v, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float gradient = scale * g[i];
    m[i] = beta1 * m[i] + beta1_rest * gradient;
    v[i] = beta2 * v[i] + beta2_rest * (gradient * gradient);
  }
}

TRAINYARD_VECTORISED void lamb_steps(LambNumbers k, const float* __restrict w,
                                     const float* __restrict m, const float* __restrict v,
                                     float* __restrict u, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    u[i] = k.rate * (k.first * m[i] / (std::sqrt(v[i]) * k.second + k.epsilon) + k.decay * w[i]);
}

class Lamb final : public StretchRule {
 public:
  using StretchRule::StretchRule;
  std::string_view name() const override { return "lamb"; }
  std::vector<std::string_view> moments() const override {
    return {"first moment", "second moment"};
  }
  bool needs_norms() const override { return true; }
  bool norms_advance() const override { return true; }

  void advance(const StepFacts& facts, const Stretch& s) const override {
    const Training& all = training();
    moments_of(static_cast<float>(facts.gradient_scale), static_cast<float>(all.beta1),
               static_cast<float>(1 - all.beta1), static_cast<float>(all.beta2),
               static_cast<float>(1 - all.beta2), s.gradients, s.state[0], s.state[1], s.count);
  }
  void direction(const ParameterPart& part, const StepFacts& facts,
                 const Stretch& s) const override {
    write(part, facts, 1, s);
  }
  void step(const ParameterPart& part, const StepFacts& facts, const TensorNorms& norms,
            const Stretch& s) const override {
    const double weights = std::sqrt(norms.weights), step = std::sqrt(norms.direction);
    const double trust = part.adapts && weights > 0 && step > 0 ? weights / step : 1;
    write(part, facts, facts.rate * trust, s);
  }

 private:
  void write(const ParameterPart& part, const StepFacts& facts, double rate,
             const Stretch& s) const {
    const Training& all = training();
    const auto t = static_cast<double>(facts.t + 1);
    lamb_steps({static_cast<float>(1 / (1 - std::pow(all.beta1, t))),
                static_cast<float>(1 / std::sqrt(1 - std::pow(all.beta2, t))),
                static_cast<float>(all.epsilon),
                static_cast<float>(part.decays ? all.weight_decay : 0), static_cast<float>(rate)},
               s.weights, s.state[0], s.state[1], s.step, s.count);
  }
};

}  // namespace

std::unique_ptr<OptimizerRule> lamb(const Training& training, WeightUpdate how) {
  return std::make_unique<Lamb>(training, how);
}

}  // namespace trainyard
