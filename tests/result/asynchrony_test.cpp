#include "core/result/asynchrony.h"

#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/flow_facts.h"

namespace trainyard {
namespace {

using testing::flow_program;
using testing::params_of;

Plan plan_of(const Method& method, const Params& given = {}) {
  Plan plan;
  plan.choices.push_back({std::string(method.name), params_of(method, given)});
  return plan;
}

TEST(Asynchrony, ThePublishedRunIsOnTheLine) {
  const auto found = asynchrony(flow_program(pipedream(), 6, 8, 6), plan_of(pipedream()));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->mean_delay, 2.5);
  EXPECT_DOUBLE_EQ(found->token_overhead.value, 1.33);
  EXPECT_DOUBLE_EQ(found->token_overhead.low, 1);
  EXPECT_DOUBLE_EQ(found->token_overhead.high, 1 + 3.3 * 0.33);
  EXPECT_EQ(found->versions, 6);
  EXPECT_TRUE(found->consistent);
  EXPECT_EQ(found->provenance, Provenance::Guessed);
  EXPECT_EQ(found->sentence,
            "gradients up to 5 updates old (mean 2.5); about 1.33 times the tokens to the "
            "same loss (1.00 to 2.09)");
  EXPECT_NE(found->token_overhead.basis.find("marin-community/marin#6431"), std::string::npos);
  EXPECT_EQ(effective_step(Duration(1'000'000), *found), Duration(1'330'000));
  EXPECT_DOUBLE_EQ(days_per_trillion_tokens(1.33e6, *found), 1e6 / 86400);
}

TEST(Asynchrony, PredictedWeightsTakeFewerTokens) {
  EXPECT_DOUBLE_EQ(token_overhead(2.5, true).value, 1.23);
  const Params none = {{"predict", std::string("none")}};
  const Program program = flow_program(pipelined_backprop(), 4, 8, 6);
  const auto with = asynchrony(program, plan_of(pipelined_backprop())),
             without = asynchrony(program, plan_of(pipelined_backprop(), none));
  EXPECT_LT(with->token_overhead.value, without->token_overhead.value);
  EXPECT_FALSE(with->consistent);
}

TEST(Asynchrony, OverheadRisesWithTheDelayFromNone) {
  EXPECT_EQ(token_overhead(0, false).value, 1);
  EXPECT_EQ(token_overhead(0, false).high, 1);
  double before = 0;
  for (double delay : {0.0, 0.1, 1.0, 2.5, 7.5, 63.0})
    for (bool predicted : {true, false}) {
      const Banded<double> found = token_overhead(delay, predicted);
      EXPECT_LE(found.low, found.value);
      EXPECT_LE(found.value, found.high);
      if (predicted) continue;
      EXPECT_GT(found.value, before);
      before = found.value;
    }
}

TEST(Asynchrony, SynchronousSchedulesHaveNone) {
  EXPECT_FALSE(asynchrony(flow_program(one_f_one_b(), 4, 8, 3), plan_of(one_f_one_b())));
  const Params sync = {{"sync", std::string("accumulate")}};
  EXPECT_FALSE(asynchrony(flow_program(tick_tock(), 1, 4, 3, sync), plan_of(tick_tock(), sync)));
}

TEST(Asynchrony, WavesWithWeightsOfTheirOwnSaySo) {
  const Params local = {{"sync", std::string("local")}};
  const auto found =
      asynchrony(flow_program(tick_tock(), 1, 4, 3, local), plan_of(tick_tock(), local));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sentence,
            "2 sets of weights that drift apart between averages; what that takes in tokens is "
            "not known");
}

}  // namespace
}  // namespace trainyard
