// HALP as an optimizer (core/methods/precision/halp.cpp has the formulas and the paper): the first
// steps of a round add up the full gradient of the anchor, which are the weights as they then are,
// and the others move the offset from it, whose bits are all that is kept of it.
//
// Inner steps are given the sum of the gradients that the weights found less those that the anchor
// found. Their scale counts both, so that the mean of the difference is twice what it makes.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/base/random.h"
#include "core/training/halp/anchored_state.h"
#include "core/training/halp/halp.h"
#include "core/training/optimizers/stretch_rule.h"
#include "core/training/optimizers/whole_tensor.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kOffsetRoundings = 0x4a17;  // stream, with the tensor's id above it
constexpr int kElementBits = 40;                    // of an index into numbers that steps draw

class HalpRule final : public OptimizerRule {
 public:
  HalpRule(const Training& training, WeightUpdate how, const Halp& halp)
      : training_(training), how_(how), halp_(halp) {}
  std::string_view name() const override { return kHalp; }
  std::vector<std::string_view> slots() const override {
    if (how_ == WeightUpdate::Kahan) return {"compensation"};
    return {};
  }

  void apply(const ParameterPart& part, const StepFacts& facts, const TensorNorms&) const override {
    assert(!is_pure_bf16(how_) && part.first == 0 && part.updated == nullptr);
    const std::vector<float> gradient = scaled_gradient(part, facts);
    const AnchoredState state(part.tensor_state, part.elements, halp_.bits);
    float* const weights = part.master != nullptr ? part.master : static_cast<float*>(part.weights);
    if (halp_.is_pass(facts.t)) return add_pass(part, facts.t, gradient, weights, state);
    move(part, facts, gradient, weights, state);
    if (part.master == nullptr) return;
    const std::span numbers(part.master, gradient.size());
    const std::span into(static_cast<std::uint16_t*>(part.weights), gradient.size());
    to_bf16(numbers, into.data());  // the one format of 16 bits that plans allow
  }

 private:
  double decay_of(const ParameterPart& part) const {
    return part.decays ? training_.weight_decay : 0;
  }

  void add_pass(const ParameterPart& part, std::int64_t t, const std::vector<float>& gradient,
                const float* weights, const AnchoredState& state) const {
    const std::int64_t step = t % halp_.round();
    const std::size_t n = gradient.size();
    if (step == 0) std::fill_n(state.full_gradient, n, 0.0F);
    const auto share = static_cast<float>(1 / static_cast<double>(halp_.pass));
    for (std::size_t i = 0; i < n; ++i) state.full_gradient[i] += share * gradient[i];
    if (step + 1 < halp_.pass) return;
    const auto decay = static_cast<float>(decay_of(part));
    for (std::size_t i = 0; i < n; ++i) state.full_gradient[i] += decay * weights[i];
    std::copy_n(weights, n, state.anchor);
    std::fill(state.offsets.begin(), state.offsets.end(), 0U);
    const double norm = std::sqrt(square_sum(state.full_gradient, DType::F32, part.elements));
    *state.step = static_cast<float>(grid_step(norm, halp_.mu, halp_.bits));
  }

  void move(const ParameterPart& part, const StepFacts& facts, const std::vector<float>& difference,
            float* weights, const AnchoredState& state) const {
    const double step = static_cast<double>(*state.step), decay = decay_of(part);
    const Random random(seed_of(training_, RandomSource::Rounding),
                        kOffsetRoundings + (part.id << 16));
    const std::uint64_t first = static_cast<std::uint64_t>(facts.t) << kElementBits;
    for (std::size_t i = 0; i < difference.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const double z = step * static_cast<double>(offset_at(state.offsets, halp_.bits, index));
      const double next =
          z - facts.rate * (2 * static_cast<double>(difference[i]) +
                            static_cast<double>(state.full_gradient[i]) + decay * z);
      // A training whose numbers have left the range of floats says so by its losses.
      if (!std::isfinite(next)) {
        weights[i] = static_cast<float>(next);
        continue;
      }
      const Offset moved = round_to_grid(next, step, halp_.bits, random.uniform(first + i));
      set_offset(state.offsets, halp_.bits, index, moved.code);
      weights[i] = static_cast<float>(static_cast<double>(state.anchor[i]) +
                                      step * static_cast<double>(moved.code));
    }
  }

  Training training_;
  WeightUpdate how_;
  Halp halp_;
};

}  // namespace

std::unique_ptr<OptimizerRule> halp_rule(const Training& training, WeightUpdate how,
                                         const Halp& halp) {
  return std::make_unique<HalpRule>(training, how, halp);
}

}  // namespace trainyard
