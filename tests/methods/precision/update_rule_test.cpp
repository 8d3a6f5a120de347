#include "core/methods/precision/update_rule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainyard {
namespace {

const double kGradient[] = {0.3, -2, 5, 0, 1, -0.25, 4};

TEST(UpdateRule, PlainMomentumIsHeavyBall) {
  const UpdateRule rule{.rate = 0.1, .momentum = 0.9};
  ParameterState state = parameter_state({1, 2});
  double w = 1, v = 0;
  for (double g : kGradient) {
    update(rule, state, std::vector<double>{g, 0});
    v = 0.9 * v + g;
    w -= 0.1 * v;
    EXPECT_DOUBLE_EQ(state.weights[0], w);
    EXPECT_DOUBLE_EQ(state.weights[1], 2);
  }
  EXPECT_EQ(state.updates, 7);
}

// rate / tau^(1 - min(k / K, 1))
TEST(UpdateRule, ReschedulingAnnealsFromRateOverDelay) {
  const UpdateRule rule{.rate = 0.4, .forward_delay = 16, .reschedule = 100};
  EXPECT_DOUBLE_EQ(rule.rate_of(0), 0.4 / 16);
  EXPECT_DOUBLE_EQ(rule.rate_of(50), 0.4 / 4);
  EXPECT_DOUBLE_EQ(rule.rate_of(75), 0.4 / 2);
  EXPECT_DOUBLE_EQ(rule.rate_of(100), 0.4);
  EXPECT_DOUBLE_EQ(rule.rate_of(100000), 0.4);
}

TEST(UpdateRule, ReschedulingLeavesStagesWithoutDelayAlone) {
  for (double delay : {0.0, 0.25, 1.0}) {
    const UpdateRule rule{.rate = 0.4, .forward_delay = delay, .reschedule = 100};
    EXPECT_DOUBLE_EQ(rule.rate_of(0), 0.4) << delay;
  }
  const UpdateRule off{.rate = 0.4, .forward_delay = 16};
  EXPECT_DOUBLE_EQ(off.rate_of(0), 0.4);
}

TEST(UpdateRule, ReschedulingScalesTheStep) {
  const UpdateRule rule{.rate = 1, .forward_delay = 4, .reschedule = 2};
  ParameterState state = parameter_state({0});
  const double one[] = {1};
  for (double expected : {-0.25, -0.75, -1.75}) {  // 1/4, 1/2, 1
    update(rule, state, one);
    EXPECT_DOUBLE_EQ(state.weights[0], expected);
  }
}

TEST(UpdateRule, MotionIsAMeanOfSteps) {
  const UpdateRule rule{
      .rate = 1, .forward_delay = 2, .correct_discrepancy = true, .decay = 0.25};  // kept: 1/2
  ParameterState state = parameter_state({0});
  double motion = 0;
  for (double g : kGradient) {
    update(rule, state, std::vector<double>{g});
    motion = 0.5 * motion + 0.5 * -g;
    EXPECT_DOUBLE_EQ(state.motion[0], motion);
    EXPECT_DOUBLE_EQ(backward_weights(rule, state)[0], state.weights[0] - 2 * motion);
  }
  EXPECT_EQ(forward_weights(rule, state), state.weights);
}

// Weights that move at one pace are rewound to where the forward found them.
TEST(UpdateRule, RewindingFindsTheForwardsWeightsOnAStraightLine) {
  const UpdateRule rule{
      .rate = 0.01, .forward_delay = 10, .backward_delay = 3, .correct_discrepancy = true};
  ParameterState state = parameter_state({0});
  std::vector<double> past{0};
  const double one[] = {1};
  for (int t = 0; t < 400; ++t) update(rule, state, one), past.push_back(state.weights[0]);
  EXPECT_NEAR(backward_weights(rule, state)[0], past[past.size() - 1 - 7], 1e-9);
}

TEST(UpdateRule, BackwardsReadTheWeightsAsTheyAreWithoutCorrection) {
  const UpdateRule rule{.forward_delay = 10, .prediction = Prediction::Weight};
  ParameterState state = parameter_state({1});
  const double one[] = {1};
  update(rule, state, one);
  EXPECT_EQ(backward_weights(rule, state), state.weights);
  EXPECT_NE(forward_weights(rule, state), state.weights);
}

// A unit gradient moves the weights by rate / (1 - momentum) in the end, at once or over time.
TEST(UpdateRule, SpikesKeepTheImpulse) {
  for (double momentum : {0.0, 0.5, 0.9, 0.99})
    for (double delay : {0.0, 1.0, 4.0, 12.0}) {
      const UpdateRule rule{
          .rate = 0.05, .momentum = momentum, .forward_delay = delay, .compensate_spikes = true};
      ParameterState state = parameter_state({0});
      update(rule, state, std::vector<double>{1});
      const double first = -state.weights[0];
      for (int t = 0; t < 4000; ++t) update(rule, state, std::vector<double>{0});
      EXPECT_NEAR(-state.weights[0], 0.05 / (1 - momentum), 1e-6) << momentum << " " << delay;
      // A single update moves it by what plain momentum would in 1 + delay updates.
      EXPECT_NEAR(first, 0.05 * (1 - std::pow(momentum, delay + 1)) / (1 - momentum), 1e-12);
    }
}

TEST(UpdateRule, SpikesWithoutDelayOrMomentumArePlain) {
  for (const auto& [momentum, delay] : {std::pair{0.9, 0.0}, {0.0, 5.0}, {0.0, 0.0}}) {
    UpdateRule rule{.rate = 0.1, .momentum = momentum, .forward_delay = delay};
    ParameterState plain = parameter_state({1}), spiked = plain;
    for (double g : kGradient) {
      rule.compensate_spikes = false;
      update(rule, plain, std::vector<double>{g});
      rule.compensate_spikes = true;
      update(rule, spiked, std::vector<double>{g});
      EXPECT_DOUBLE_EQ(spiked.weights[0], plain.weights[0]);
    }
  }
}

TEST(UpdateRule, BothPredictionsAreOneWithoutSpikes) {
  UpdateRule rule{.rate = 0.02, .momentum = 0.95, .forward_delay = 6};
  ParameterState state = parameter_state({1});
  for (int t = 0; t < 100; ++t) {
    rule.prediction = Prediction::Velocity;
    const double velocity = forward_weights(rule, state)[0];
    rule.prediction = Prediction::Weight;
    EXPECT_NEAR(forward_weights(rule, state)[0], velocity, 1e-6);
    update(rule, state, std::vector<double>{std::sin(t)});
  }
  EXPECT_GT(std::abs(forward_weights(rule, state)[0] - state.weights[0]), 1e-3);
}

TEST(UpdateRule, PredictionsDifferWithSpikes) {
  UpdateRule rule{.rate = 0.02, .momentum = 0.95, .forward_delay = 6, .compensate_spikes = true};
  ParameterState state = parameter_state({1});
  update(rule, state, std::vector<double>{1});
  rule.prediction = Prediction::Velocity;
  const double velocity = forward_weights(rule, state)[0];
  rule.prediction = Prediction::Weight;
  EXPECT_LT(forward_weights(rule, state)[0], velocity);  // the spike is part of the motion
}

TEST(UpdateRule, TheHorizonIsTheDelayUnlessGiven) {
  UpdateRule rule{.rate = 0.1, .forward_delay = 3, .prediction = Prediction::Velocity};
  ParameterState state = parameter_state({0});
  update(rule, state, std::vector<double>{1});
  EXPECT_DOUBLE_EQ(forward_weights(rule, state)[0], -0.1 - 0.1 * 3);
  rule.horizon = 5;
  EXPECT_DOUBLE_EQ(forward_weights(rule, state)[0], -0.1 - 0.1 * 5);
  rule.horizon = 0;
  EXPECT_DOUBLE_EQ(forward_weights(rule, state)[0], -0.1);
}

TEST(UpdateRule, ASchedulesParamsAndFactsMakeItsRule) {
  StageFacts facts;
  facts.forward_delay = 3, facts.mean_delay_thousandths = 2250;
  const UpdateRule pipemare = update_rule_of(
      "pipemare", {{"reschedule", std::int64_t{100}}, {"correct", true}, {"decay", 0.2}}, facts,
      0.1, 0.9);
  EXPECT_DOUBLE_EQ(pipemare.forward_delay, 2.25);
  EXPECT_EQ(pipemare.reschedule, 100);
  EXPECT_TRUE(pipemare.correct_discrepancy);
  EXPECT_DOUBLE_EQ(pipemare.decay, 0.2);
  const UpdateRule fine =
      update_rule_of("pipelined-backprop",
                     {{"compensate", true}, {"predict", std::string("weight")}, {"horizon", -1.0}},
                     facts, 0.1, 0.9);
  EXPECT_DOUBLE_EQ(fine.forward_delay, 3);
  EXPECT_TRUE(fine.compensate_spikes);
  EXPECT_EQ(fine.prediction, Prediction::Weight);
  const UpdateRule plain = update_rule_of("pipedream", {}, facts, 0.1, 0.9);
  EXPECT_DOUBLE_EQ(plain.rate, 0.1);
  EXPECT_DOUBLE_EQ(plain.momentum, 0.9);
  EXPECT_DOUBLE_EQ(plain.forward_delay, 3);
  EXPECT_FALSE(plain.compensate_spikes);
  EXPECT_EQ(plain.prediction, Prediction::None);
}

}  // namespace
}  // namespace trainyard
