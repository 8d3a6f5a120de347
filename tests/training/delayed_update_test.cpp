// The rules of asynchronous schedules, as an optimizer applies them in 4-byte floats, follow their
// definition in doubles.
#include "core/training/optimizers/delayed_update.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr std::size_t kLength = 1500;  // more than one stretch

// Kind 0 is plain momentum.
UpdateRule rule_of(int kind) {
  UpdateRule rule;
  rule.rate = 0.03;
  rule.momentum = kind == 5 ? 0 : 0.9;
  rule.forward_delay = 4;
  rule.backward_delay = kind == 1 ? 0 : 4;
  rule.correct_discrepancy = kind == 1;
  rule.reschedule = kind == 1 ? 6 : 0;
  rule.compensate_spikes = kind >= 2;
  rule.prediction = kind == 3 || kind == 5 ? Prediction::Velocity
                    : kind == 4            ? Prediction::Weight
                                           : Prediction::None;
  return rule;
}

std::vector<float> drawn(std::uint64_t stream) {
  std::vector<float> made(kLength);
  for (std::size_t i = 0; i < kLength; ++i)
    made[i] = static_cast<float>(Random(2, stream).uniform(i) - 0.5);
  return made;
}

// What an optimizer keeps of one tensor. Where `beside`, each update writes the weights elsewhere.
struct Optimized {
  Optimized(std::string_view optimizer, const Training& training, bool writes_beside)
      : rule(optimizer_rule(optimizer, training, WeightUpdate::Direct)), beside(writes_beside) {
    for (std::size_t slot = 0; slot < rule->slots().size(); ++slot)
      state.emplace_back(kLength, 0.0f);
    by_tensor.resize(
        static_cast<std::size_t>(tensor_state_bytes(optimizer, {}, 0, kLength, 4).value));
  }

  void update(std::int64_t t, const UpdateRule& corrections) {
    const std::vector<float> sums = drawn(static_cast<std::uint64_t>(t) + 1);
    std::vector<void*> slots;
    for (std::vector<float>& slot : state) slots.push_back(slot.data());
    std::vector<float> next(kLength);
    ParameterPart part;
    part.elements = kLength;
    part.weights = weights.data(), part.gradients = sums.data(), part.state = slots;
    part.tensor_state = by_tensor.data();
    if (beside) part.updated = next.data();
    if (derives_weights(corrections)) part.derived = derived.data();
    StepFacts facts{.t = t, .rate = corrections.rate, .gradient_scale = 0.25};
    correct(facts, corrections);
    rule->apply(part, facts, {});
    if (beside) weights.swap(next);
  }

  std::unique_ptr<OptimizerRule> rule;
  bool beside;
  std::vector<float> weights = drawn(0), derived = weights;
  std::vector<std::vector<float>> state;
  std::vector<std::byte> by_tensor;
};

TEST(DelayedUpdate, FollowsItsDefinitionForTwentyUpdates) {
  for (int kind = 0; kind <= 5; ++kind) {
    SCOPED_TRACE(kind);
    const UpdateRule rule = rule_of(kind);
    Training training;
    training.momentum = rule.momentum;
    Optimized fast(kind == 5 ? "sgd" : "momentum", training, false);
    ParameterState exact = parameter_state({fast.weights.begin(), fast.weights.end()});
    EXPECT_EQ(derives_weights(rule), kind == 1 || kind >= 3);
    for (std::int64_t t = 0; t < 20; ++t) {
      fast.update(t, rule);
      std::vector<double> mean;
      for (float sum : drawn(static_cast<std::uint64_t>(t) + 1)) mean.push_back(sum * 0.25);
      update(rule, exact, mean);
      const std::vector<double> derived =
          kind == 1 ? backward_weights(rule, exact) : forward_weights(rule, exact);
      for (std::size_t i = 0; i < kLength; ++i) {
        ASSERT_NEAR(fast.weights[i], exact.weights[i], 1e-5) << "update " << t << ", " << i;
        if (!derives_weights(rule)) continue;
        ASSERT_NEAR(fast.derived[i], derived[i], 1e-5) << "update " << t << ", " << i;
      }
    }
  }
}

// The rewound weights remember the motion that moved them: where the weights stay, they catch up.
TEST(DelayedUpdate, RewoundWeightsCatchUpWithWeightsThatStay) {
  UpdateRule rule = rule_of(1);
  Optimized fast("sgd", {}, false);
  for (std::int64_t t = 0; t < 5; ++t) fast.update(t, rule);
  const std::vector<float> weights = fast.weights;
  EXPECT_NE(fast.derived, weights);
  rule.rate = 0;
  for (std::int64_t t = 5; t < 60; ++t) fast.update(t, rule);
  EXPECT_EQ(fast.weights, weights);
  for (std::size_t i = 0; i < kLength; ++i) ASSERT_NEAR(fast.derived[i], weights[i], 1e-6);
}

TEST(DelayedUpdate, NesterovsMomentumIsThatOfAGradientThatIsOneUpdateLate) {
  UpdateRule late;
  late.rate = 0.03, late.compensate_spikes = true, late.forward_delay = 1;
  UpdateRule in_time = late;
  in_time.forward_delay = 0;
  Training nesterov;
  nesterov.nesterov = true;
  Optimized a("momentum", {}, false), b("momentum", nesterov, false);
  for (std::int64_t t = 0; t < 5; ++t) a.update(t, late), b.update(t, in_time);
  EXPECT_EQ(a.weights, b.weights);
}

// Where the weights before are still read, the new ones are written beside them. HALP is refused
// where they are.
TEST(DelayedUpdate, WritesTheSameBitsBesideAsInPlace) {
  for (const Optimizer& optimizer : optimizers())
    for (int kind = 0; kind <= 4; ++kind) {
      if (optimizer.name == kHalp) continue;
      SCOPED_TRACE(std::string(optimizer.name) + " " + std::to_string(kind));
      UpdateRule rule = rule_of(kind);
      if (optimizer.name != "momentum") rule.momentum = 0;
      Optimized in_place(optimizer.name, {}, false), beside(optimizer.name, {}, true);
      for (std::int64_t t = 0; t < 3; ++t) in_place.update(t, rule), beside.update(t, rule);
      EXPECT_EQ(in_place.weights, beside.weights);
      EXPECT_EQ(in_place.derived, beside.derived);
    }
}

}  // namespace
}  // namespace trainyard
