// The rules of asynchronous schedules in 4-byte floats follow their definition in doubles.
#include "core/training/delayed_update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/base/random.h"

namespace trainyard {
namespace {

UpdateRule rule_of(int kind) {
  UpdateRule rule;
  rule.rate = 0.03;
  rule.momentum = 0.9;
  rule.forward_delay = 4;
  rule.backward_delay = kind == 1 ? 0 : 4;
  rule.correct_discrepancy = kind == 1;
  rule.reschedule = kind == 1 ? 6 : 0;
  rule.compensate_spikes = kind >= 2;
  rule.prediction = kind == 3   ? Prediction::Velocity
                    : kind == 4 ? Prediction::Weight
                                : Prediction::None;
  return rule;
}

TEST(DelayedUpdate, FollowsItsDefinitionForTwentyUpdates) {
  constexpr std::size_t kLength = 1500;  // more than one tile
  for (int kind = 0; kind <= 4; ++kind) {
    SCOPED_TRACE(kind);
    const UpdateRule rule = rule_of(kind);
    std::vector<double> start(kLength);
    for (std::size_t i = 0; i < kLength; ++i) start[i] = Random(1).uniform(i) - 0.5;
    ParameterState exact = parameter_state(start);
    std::vector<float> weights(start.begin(), start.end()), before = weights;
    std::vector<float> velocity(kLength, 0), motion(kLength, 0);
    for (std::int64_t t = 0; t < 20; ++t) {
      std::vector<float> sums(kLength);
      std::vector<double> mean(kLength);
      for (std::size_t i = 0; i < kLength; ++i) {
        sums[i] = static_cast<float>(Random(2, static_cast<std::uint64_t>(t)).uniform(i) - 0.5);
        mean[i] = sums[i] * 0.25;
      }
      const DelayedPart part{static_cast<std::int64_t>(kLength),
                             weights.data(),
                             sums.data(),
                             DType::F32,
                             velocity.data(),
                             rule.correct_discrepancy ? motion.data() : nullptr,
                             before.data()};
      delayed_update(rule, part, t, 0.25);
      update(rule, exact, mean);
      std::vector<float> ahead(kLength), rewound(kLength);
      forward_weights(rule, part, t + 1, ahead.data());
      backward_weights(rule, part, rewound.data());
      const std::vector<double> exact_ahead = forward_weights(rule, exact),
                                exact_rewound = backward_weights(rule, exact);
      for (std::size_t i = 0; i < kLength; ++i) {
        ASSERT_NEAR(weights[i], exact.weights[i], 1e-5) << "update " << t << ", " << i;
        ASSERT_NEAR(ahead[i], exact_ahead[i], 1e-5) << "update " << t << ", " << i;
        ASSERT_NEAR(rewound[i], exact_rewound[i], 1e-5) << "update " << t << ", " << i;
      }
    }
  }
}

TEST(DelayedUpdate, PlainMomentumIsNotCorrected) {
  EXPECT_FALSE(is_corrected(rule_of(0)));
  for (int kind = 1; kind <= 4; ++kind) EXPECT_TRUE(is_corrected(rule_of(kind)));
}

}  // namespace
}  // namespace trainyard
