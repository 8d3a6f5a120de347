// Tests that all who say how long a step is count the wait for its input alike: the closed form,
// the simulation, the prices of planners and what follows from a step.
#include <gtest/gtest.h>

#include "app/workspace/scenario/closed_form.h"
#include "app/workspace/scenario/run_once.h"
#include "core/cost/physical.h"
#include "core/result/input_cost.h"
#include "core/result/training_cost.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/plan_figures.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::scenario;
using testing::Settings;

const Settings kPlain = {"pp=2", "global-batch=64", "precision=bf16"};

Scenario waiting_scenario(std::string_view decoding, std::string_view from = "input=storage") {
  Settings settings = kPlain;
  settings.insert(settings.end(), {from, decoding});
  return scenario(gpt(), 8, settings);
}

// 64 samples on 24 cores, a second and a half each, take 4 s.
TEST(InputWaiting, AllWhoSayHowLongAStepIsCountIt) {
  const Scenario plain = scenario(gpt(), 8, kPlain),
                 waits = waiting_scenario("input.decoding=1.5s");
  const auto cost = physical_cost_model(plain);
  const Result before = estimate(plain, cost.get()), after = estimate(waits, cost.get());
  ASSERT_TRUE(after.input);
  EXPECT_FALSE(before.input);
  EXPECT_EQ(after.step.value, seconds(4));
  EXPECT_EQ(after.input->waiting, seconds(4) - before.step.value);
  EXPECT_EQ(after.breakdown.input, after.input->waiting);
  EXPECT_EQ(after.breakdown.sum(), after.step.value);

  const Result simulated = run_once(waits, {.cost = cost.get()})->result,
               at_hand = run_once(plain, {.cost = cost.get()})->result;
  EXPECT_EQ(simulated.step.value, seconds(4));
  EXPECT_EQ(simulated.input->waiting, seconds(4) - at_hand.step.value);
  EXPECT_EQ(simulated.breakdown.sum(), simulated.step.value);
  EXPECT_EQ(simulated.verdict.limit.substr(0, 28), "Limited by waiting for input");
  EXPECT_EQ(figures_of(waits,
                       [&](const Scenario&) {
                         return std::shared_ptr<const CostModel>(std::shared_ptr<void>(),
                                                                 cost.get());
                       })
                .step,
            seconds(4));
  EXPECT_EQ(exact_price(waits, *cost).step, seconds(4));

  const double longer = 4 / to_seconds(before.step.value);
  EXPECT_NEAR(tokens_per_second(before) / tokens_per_second(after), longer, 1e-6 * longer);
  EXPECT_NEAR(after.money->value / before.money->value, longer, 1e-6 * longer);
  EXPECT_GT(after.energy->value.value, before.energy->value.value);
  EXPECT_LT(mean_draw(after).value, mean_draw(before).value) << "devices idle while they wait";
  EXPECT_NEAR(training_cost(phases_of(after), 10 * after.tokens_per_step).seconds.value, 40, 1e-6);
}

TEST(InputWaiting, InputThatKeepsUpChangesNoTime) {
  const Scenario plain = scenario(gpt(), 8, kPlain), waits = waiting_scenario("input.decoding=1us");
  const auto cost = physical_cost_model(plain);
  const Result before = estimate(plain, cost.get()), after = estimate(waits, cost.get());
  ASSERT_TRUE(after.input);
  EXPECT_EQ(after.input->waiting, Duration{});
  EXPECT_EQ(after.step.value, before.step.value);
  EXPECT_EQ(run_once(waits, {.cost = cost.get()})->result.step.value,
            run_once(plain, {.cost = cost.get()})->result.step.value);
}

TEST(InputWaiting, PhasesOfABatchRampWaitForTheirOwnSamples) {
  Scenario s = waiting_scenario("input.decoding=1.5s");
  apply_setting(s.plan, "batch-ramp=16:16:480");
  const auto cost = physical_cost_model(s);
  const Result result = estimate(s, cost.get());
  ASSERT_EQ(result.ramp.size(), 4u);
  for (std::size_t i = 0; i < result.ramp.size(); ++i)
    EXPECT_EQ(result.ramp[i].step.value, seconds(static_cast<double>(i + 1)));
}

}  // namespace
}  // namespace trainyard
