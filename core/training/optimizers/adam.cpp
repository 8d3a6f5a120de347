// This file has Adam (Kingma and Ba, ICLR 2015) and AdamW, whose decay does not pass through the
// moments (Loshchilov and Hutter, ICLR 2019). All scalars are computed in double and stored in
// 4-byte floats, because beta2 = 0.999 would be 1 in bf16.
#include <cmath>

#include "core/base/vectorised.h"
#include "core/training/optimizers/stretch_rule.h"

namespace trainyard {
namespace {

struct AdamNumbers {
  float scale, decay;  // scale of the gradient; L2 decay, added to the gradient
  float beta1, beta1_rest, beta2, beta2_rest;
  float rate, second, epsilon;  // include their bias corrections
  float apart;                  // rate times decoupled decay
};

TRAINYARD_VECTORISED void adam_steps(AdamNumbers k, const float* __restrict w,
                                     const float* __restrict g, float* __restrict m,
                                     float* __restrict v, float* __restrict u, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float gradient = k.scale * g[i] + k.decay * w[i];
    const float first = k.beta1 * m[i] + k.beta1_rest * gradient;
    const float second = k.beta2 * v[i] + k.beta2_rest * (gradient * gradient);
    m[i] = first, v[i] = second;
    u[i] = k.rate * first / (std::sqrt(second) * k.second + k.epsilon) + k.apart * w[i];
  }
}

class Adam final : public StretchRule {
 public:
  Adam(const Training& training, WeightUpdate how, bool decoupled)
      : StretchRule(training, how), decoupled_(decoupled) {}
  std::string_view name() const override { return decoupled_ ? "adamw" : "adam"; }
  std::vector<std::string_view> moments() const override {
    return {"first moment", "second moment"};
  }
  void step(const ParameterPart& part, const StepFacts& facts, const TensorNorms&,
            const Stretch& s) const override {
    const Training& all = training();
    const auto t = static_cast<double>(facts.t + 1);
    const double decay = part.decays ? all.weight_decay : 0;
    const AdamNumbers k{static_cast<float>(facts.gradient_scale),
                        static_cast<float>(decoupled_ ? 0 : decay),
                        static_cast<float>(all.beta1),
                        static_cast<float>(1 - all.beta1),
                        static_cast<float>(all.beta2),
                        static_cast<float>(1 - all.beta2),
                        static_cast<float>(facts.rate / (1 - std::pow(all.beta1, t))),
                        static_cast<float>(1 / std::sqrt(1 - std::pow(all.beta2, t))),
                        static_cast<float>(all.epsilon),
                        static_cast<float>(decoupled_ ? facts.rate * decay : 0)};
    adam_steps(k, s.weights, s.gradients, s.state[0], s.state[1], s.step, s.count);
  }

 private:
  bool decoupled_;
};

}  // namespace

std::unique_ptr<OptimizerRule> adam(const Training& training, WeightUpdate how) {
  return std::make_unique<Adam>(training, how, false);
}
std::unique_ptr<OptimizerRule> adamw(const Training& training, WeightUpdate how) {
  return std::make_unique<Adam>(training, how, true);
}

}  // namespace trainyard
