// LARS is momentum whose rate is scaled for every tensor by trust |w| / (|g| + decay |w| +
// epsilon), so that a layer changes by the same share of its size for any size of its gradient. You
// et al., "Large Batch Training of Convolutional Networks", 2017.
#include <cmath>

#include "core/base/vectorised.h"
#include "core/training/optimizers/stretch_rule.h"

namespace trainyard {
namespace {

struct LarsNumbers {
  float rate, scale, decay, momentum;
};

TRAINYARD_VECTORISED void lars_steps(LarsNumbers k, const float* __restrict w,
                                     const float* __restrict g, float* __restrict v,
                                     float* __restrict u, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float velocity = k.momentum * v[i] + k.rate * (k.scale * g[i] + k.decay * w[i]);
    v[i] = velocity;
    u[i] = velocity;
  }
}

TRAINYARD_VECTORISED void scaled(float scale, const float* __restrict g, float* __restrict u,
                                 std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) u[i] = scale * g[i];
}

class Lars final : public StretchRule {
 public:
  using StretchRule::StretchRule;
  std::string_view name() const override { return "lars"; }
  std::vector<std::string_view> moments() const override { return {"momentum"}; }
  bool needs_norms() const override { return true; }

  void direction(const ParameterPart&, const StepFacts& facts, const Stretch& s) const override {
    scaled(static_cast<float>(facts.gradient_scale), s.gradients, s.step, s.count);
  }
  void step(const ParameterPart& part, const StepFacts& facts, const TensorNorms& norms,
            const Stretch& s) const override {
    const Training& all = training();
    const double decay = part.adapts && part.decays ? all.weight_decay : 0;
    const double weights = std::sqrt(norms.weights), gradients = std::sqrt(norms.direction);
    // A tensor that starts at zero, or has no gradient, is updated with the plain rate.
    const double local = part.adapts && weights > 0 && gradients > 0
                             ? all.trust * weights / (gradients + decay * weights + all.epsilon)
                             : 1;
    lars_steps({static_cast<float>(facts.rate * local), static_cast<float>(facts.gradient_scale),
                static_cast<float>(decay), static_cast<float>(all.momentum)},
               s.weights, s.gradients, s.state[0], s.step, s.count);
  }
};

}  // namespace

std::unique_ptr<OptimizerRule> lars(const Training& training, WeightUpdate how) {
  return std::make_unique<Lars>(training, how);
}

}  // namespace trainyard
