// In Adagrad every parameter's rate falls with the squares of the gradients that it has seen (Duchi
// et al., JMLR 2011).
#include <cmath>

#include "core/base/vectorised.h"
#include "core/training/optimizers/stretch_rule.h"

namespace trainyard {
namespace {

struct AdagradNumbers {
  float rate, scale, decay, epsilon;
};

TRAINYARD_VECTORISED void adagrad_steps(AdagradNumbers k, const float* __restrict w,
                                        const float* __restrict g, float* __restrict sum,
                                        float* __restrict u, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float gradient = k.scale * g[i] + k.decay * w[i];
    const float squares = sum[i] + gradient * gradient;
    sum[i] = squares;
    u[i] = k.rate * gradient / (std::sqrt(squares) + k.epsilon);
  }
}

class Adagrad final : public StretchRule {
 public:
  using StretchRule::StretchRule;
  std::string_view name() const override { return "adagrad"; }
  std::vector<std::string_view> moments() const override { return {"sum of squares"}; }
  void step(const ParameterPart& part, const StepFacts& facts, const TensorNorms&,
            const Stretch& s) const override {
    adagrad_steps({static_cast<float>(facts.rate), static_cast<float>(facts.gradient_scale),
                   static_cast<float>(part.decays ? training().weight_decay : 0),
                   static_cast<float>(training().epsilon)},
                  s.weights, s.gradients, s.state[0], s.step, s.count);
  }
};

}  // namespace

std::unique_ptr<OptimizerRule> adagrad(const Training& training, WeightUpdate how) {
  return std::make_unique<Adagrad>(training, how);
}

}  // namespace trainyard
