// Tests the prices of batch ramps: laws of their sums, and that text, document and picture agree.
#include "app/workspace/scenario/ramp_prices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/result_json.h"
#include "core/io/json/json.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/result/training_cost.h"
#include "tests/planners/random_plans.h"
#include "tests/support/cases.h"
#include "visualizers/energy/energy_view.h"

namespace trainyard {
namespace {

Scenario ramped(Scenario s, const std::string& sizes) {
  apply_setting(s.plan, "batch-ramp=" + sizes);
  return s;
}

// The samples of one microbatch on every replica: no batch is smaller.
std::int64_t smallest_batch(const Scenario& s) {
  return s.plan.batch.micro * data_parallel(s.plan, s.cluster);
}

// Draws plans that take a ramp, until there are enough.
template <class F>
void each_ramped_plan(std::uint64_t wanted, F&& f) {
  std::uint64_t met = 0;
  for (std::uint64_t seed = 0; met < wanted && seed < 40 * wanted; ++seed) {
    const Scenario s = testing::random_plan(seed);
    const std::int64_t unit = smallest_batch(s), full = s.plan.batch.global;
    if (full / unit < 4 || full / unit % 2 != 0) continue;
    const Scenario one = ramped(s, std::to_string(unit) + ":" + std::to_string(full - unit) + ":" +
                                       std::to_string(16 * full));
    if (has_errors(check(one))) continue;
    ++met;
    SCOPED_TRACE("seed " + std::to_string(seed));
    f(s, unit, full);
  }
  EXPECT_EQ(met, wanted);
}

double work_until(const Result& r, double samples) {
  const PricedPhase full = phases_of(r).back();
  return samples * full.work / static_cast<double>(full.phase.batch);
}

TEST(RampPrices, ARampThatStartsAtTheGlobalBatchPricesAsNone) {
  each_ramped_plan(testing::cases(20, 5), [](const Scenario& s, std::int64_t, std::int64_t full) {
    const Result plain = estimate(s),
                 flat = estimate(ramped(s, std::to_string(full) + ":8:100000"));
    EXPECT_TRUE(flat.ramp.empty());
    const double work = work_until(plain, 1e6);
    const TrainingCost a = training_cost(phases_of(plain), work),
                       b = training_cost(phases_of(flat), work);
    EXPECT_EQ(a.seconds.value, b.seconds.value);
    EXPECT_EQ(a.steps, b.steps);
  });
}

TEST(RampPrices, PhasesSumToTheRunAndALongerRampIsNeverQuicker) {
  each_ramped_plan(testing::cases(30, 6), [](const Scenario& s, std::int64_t unit,
                                             std::int64_t full) {
    const Result plain = estimate(s);
    const std::int64_t increment =
        (full - unit) % (3 * unit) == 0 ? (full - unit) / 3 : full - unit;
    double before = training_cost(phases_of(plain), work_until(plain, 1e7)).seconds.value;
    // Spans that every batch divides: then no step reaches into the span behind it.
    std::int64_t whole = 1;
    for (std::int64_t b = unit; b <= full; b += increment) whole = std::lcm(whole, b);
    for (const std::int64_t spans : {1, 2, 5}) {
      const std::int64_t samples = (full - unit) / increment * whole * spans;
      if (samples > 10'000'000) break;
      const Result r = estimate(ramped(s, std::to_string(unit) + ":" + std::to_string(increment) +
                                              ":" + std::to_string(samples)));
      ASSERT_EQ(r.step.value, plain.step.value);
      ASSERT_EQ(r.ramp.size(), static_cast<std::size_t>((full - unit) / increment + 1));
      const double work = work_until(r, 1e7);
      const TrainingCost all = training_cost(r.ramp, work), ramp = ramp_cost(r.ramp);
      EXPECT_NEAR(all.work, work, 1e-9 * work);
      EXPECT_NEAR(ramp.work, work_until(r, static_cast<double>(samples)), 1e-9 * work);
      EXPECT_NEAR(ramp.steps, static_cast<double>(r.ramp.back().phase.first_step), 1e-6);
      EXPECT_GE(all.seconds.value, before * (1 - 1e-9));
      before = all.seconds.value;
      for (const PricedPhase& phase : r.ramp) EXPECT_LE(phase.peak, worst_peak(r));
    }
  });
}

TEST(RampPrices, ThePhasesAreThePlansOfTheirBatches) {
  const Scenario s = open({"llama-3-8b",
                           "h100-sxm:16",
                           "",
                           {"tp=2", "pp=4", "global-batch=64", "batch-ramp=16:16:3000"}});
  const Result r = simulate(s, {.fixes = false})->result;
  ASSERT_EQ(r.ramp.size(), 4u);
  for (const PricedPhase& phase : r.ramp) {
    const Result own =
        simulate({s.model, s.cluster, with_batch(s.plan, phase.phase.batch)}, {.fixes = false})
            ->result;
    EXPECT_EQ(phase.step.value, own.step.value);
    EXPECT_EQ(phase.mfu, own.mfu);
    EXPECT_EQ(phase.peak, worst_peak(own));
  }
  EXPECT_EQ(ramp_sentence(r).substr(0, 27), "4 phases until sample 3008 ");
}

TEST(RampPrices, ThePictureOfCostsSumsTheSamePhases) {
  const Scenario s = open({"llama-3-8b",
                           "h100-sxm:16",
                           "",
                           {"tp=2", "pp=4", "global-batch=64", "batch-ramp=16:16:3000"}});
  const ExperimentPtr e = simulate(s, {.fixes = false});
  EnergyState state;
  state.budget = 1e9;
  const EnergyCost shown = energy_costs(energy_model(*e), state).back();
  const TrainingCost sum = training_cost(e->result.ramp, 1e9);
  EXPECT_DOUBLE_EQ(shown.days.value, sum.seconds.value / 86400);
  EXPECT_DOUBLE_EQ(shown.steps, sum.steps);
  EXPECT_DOUBLE_EQ(shown.energy->value.value, sum.energy->value.value);
  EXPECT_NEAR(shown.money->value, sum.money->value, 1e-9 * sum.money->value);
  const Json json = to_json(e->result);
  const Json* ramp = json.find("batch_ramp");
  ASSERT_NE(ramp, nullptr);
  EXPECT_EQ(*ramp->find("seconds")->find("value"), Json(ramp_cost(e->result.ramp).seconds.value));
}

}  // namespace
}  // namespace trainyard
