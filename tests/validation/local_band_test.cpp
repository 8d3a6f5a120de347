// Tests bands of predictions for this machine's own cores, but never how long anything takes.
#include "core/validation/local_band.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "core/cost/calibrated.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

Workload tiny(const std::string& model, const std::vector<std::string>& settings, int devices) {
  Scenario s{zoo_model(model), make_cluster(device("cpu"), devices), {}};
  for (const char* one : {"precision=fp32", "global-batch=32", "micro-batch=8"})
    apply_setting(s.plan, one);
  for (const std::string& one : settings) apply_setting(s.plan, one);
  return prepare(s);
}

// Every kernel that a step asks for, as if measured at what the formula says times a factor.
template <class Factor>
Calibration measured_kernels(const Workload& w, const Factor& factor) {
  const auto formula = physical_cost_model(w.scenario);
  Calibration c;
  c.machine = "a test";
  c.copy = {Duration{1000}, {10e9}};
  c.reduce = {10e9};
  for (const Work& work : w.kernels) {
    const Duration price = formula->compute(work, w.scenario.cluster.device);
    if (price <= Duration{}) continue;
    c.kernels.push_back({.work = work,
                         .time = seconds(to_seconds(price) * factor(c.kernels.size())),
                         .spread = 0,
                         .repeats = 1});
  }
  return c;
}

double as_formula(std::size_t) { return 1; }

PricedTime random_time(const Random& random, std::uint64_t draw) {
  const auto part = [&](std::uint64_t i) {
    const double x = random.uniform(8 * draw + i);
    return x < 0.2 ? 0.0 : x;
  };
  return {part(0), part(1), part(2)};
}

TEST(LocalBand, SaysWhatPricesStandOn) {
  const Workload w = tiny("gpt-tiny", {}, 1);
  const auto formula = physical_cost_model(w.scenario);
  const PricedTime none = priced_time(w, *formula);
  EXPECT_EQ(none.measured, 0);
  EXPECT_EQ(none.other_shapes, 0);
  EXPECT_NEAR(none.formula, to_seconds(estimate_step(w, *formula).step), 1e-3 * none.formula);

  const Calibration all = measured_kernels(w, as_formula);
  const PricedTime own = priced_time(w, *calibrated_cost_model(all));
  EXPECT_EQ(own.other_shapes, 0);
  EXPECT_EQ(own.formula, 0);
  EXPECT_NEAR(own.measured, none.formula, 1e-2 * none.formula);

  // The same kernels at another size of the microbatch; of another model, some kernels only.
  const Workload larger = tiny("gpt-tiny", {"micro-batch=16"}, 1);
  const PricedTime other = priced_time(larger, *calibrated_cost_model(all));
  EXPECT_GT(other.other_shapes, other.measured);
  EXPECT_LT(other.formula, 0.1 * other.other_shapes) << "what is made alike";
  const PricedTime foreign = priced_time(tiny("resnet-20", {}, 1), *calibrated_cost_model(all));
  EXPECT_GT(foreign.formula, 0);
}

// The band widens, kernel by kernel, as fewer kernels are measured.
TEST(LocalBand, GrowsWithWhatIsNotMeasured) {
  const Workload w = tiny("resnet-20", {}, 1);
  Calibration c = measured_kernels(w, as_formula);
  double low = 0, high = 0;
  bool first = true;
  for (;;) {
    const Band band = local_band(priced_time(w, *calibrated_cost_model(c)), 0);
    if (!first) {
      EXPECT_LE(band.low, low + 1e-3);
      EXPECT_GE(band.high, high - 1e-3);
    }
    low = band.low, high = band.high, first = false;
    if (c.kernels.empty()) break;
    c.kernels.pop_back();
  }
  const PriceRange formula = price_range(PricedBy::Formula);
  EXPECT_NEAR(low, formula.low - 1, 1e-12);
  EXPECT_NEAR(high, formula.high - 1, 1e-12);
}

// In a world where every price is off by no more than its range, no step lies outside the band.
TEST(LocalBand, HoldsEveryStepOfAWorldThatKeepsToTheRanges) {
  const Random random(7);
  for (std::uint64_t draw = 0; draw < 500; ++draw) {
    const PricedTime time = random_time(random, draw);
    if (!(time.total() > 0)) continue;
    const Band band = local_band(time, 0);
    const auto truth = [&](PricedBy by, std::uint64_t i) {
      const PriceRange range = price_range(by);
      return range.low + (range.high - range.low) * random.uniform(8 * draw + i);
    };
    const double step = time.measured * truth(PricedBy::Measurement, 3) +
                        time.other_shapes * truth(PricedBy::OtherShapes, 4) +
                        time.formula * truth(PricedBy::Formula, 5);
    EXPECT_GE(step, time.total() * (1 + band.low) * (1 - 1e-12));
    EXPECT_LE(step, time.total() * (1 + band.high) * (1 + 1e-12));
  }
}

TEST(LocalBand, LawsAtRandom) {
  const Random random(11);
  for (std::uint64_t draw = 0; draw < 500; ++draw) {
    const PricedTime time = random_time(random, draw);
    const double check = random.uniform(8 * draw + 6), scale = 1 + 9 * random.uniform(8 * draw + 7);
    const Band band = local_band(time, check);
    EXPECT_LE(band.low, 0);
    EXPECT_GT(band.low, -1.0 - 1e-12);
    EXPECT_GE(band.high, 0);
    EXPECT_FALSE(band.basis.empty());
    // Shares matter, not seconds.
    const Band larger =
        local_band({scale * time.measured, scale * time.other_shapes, scale * time.formula}, check);
    EXPECT_NEAR(larger.low, band.low, 1e-9);
    EXPECT_NEAR(larger.high, band.high, 1e-9);
    // A calibration that knows itself worse is never surer.
    const Band worse = local_band(time, check + 0.1);
    EXPECT_LE(worse.low, band.low);
    EXPECT_GE(worse.high, band.high);
    // Time that moves from what was measured to what was not widens the band.
    if (check > 0.1) continue;
    const double moved = 0.5 * time.measured;
    const Band less =
        local_band({time.measured - moved, time.other_shapes + moved, time.formula}, check);
    EXPECT_LE(less.low, band.low + 1e-12);
    EXPECT_GE(less.high, band.high - 1e-12);
  }
}

// A learned price is as uncertain as it says of itself, in proportion to its part of the time.
TEST(LocalBand, LearnedTimeHasItsOwnRange) {
  PricedTime time;
  time.learned = 2, time.learned_off = std::log(1.2);
  EXPECT_NEAR(local_band(time, 0).high, 0.2, 1e-12);
  EXPECT_NEAR(local_band(time, 0).low, 1 / 1.2 - 1, 1e-12);
  EXPECT_EQ(local_band(time, 0).basis.find("beyond"), std::string::npos);
  time.learned_beyond = 0.5;
  EXPECT_NE(local_band(time, 0).basis.find("learned from measured kernels, 25 % of it at sizes "
                                           "beyond theirs, (0.83 to 1.20 times the price)"),
            std::string::npos)
      << local_band(time, 0).basis;
  time.formula = 2;
  EXPECT_NEAR(local_band(time, 0).high, 0.1 + (price_range(PricedBy::Formula).high - 1) / 2, 1e-12);
  Calibration c = measured_kernels(tiny("gpt-tiny", {}, 1), as_formula);
  ASSERT_GE(c.kernels.size(), 20u);
  c.other_shapes = OtherShapes::Learned;
  const Workload other = tiny("gpt-tiny", {"micro-batch=3", "global-batch=3"}, 1);
  const PricedTime priced = priced_time(other, *calibrated_cost_model(c));
  EXPECT_GT(priced.learned, 0.5 * priced.total());
  // Three samples are more than any of which kernels were measured, and one is not.
  EXPECT_GT(priced.learned_beyond, 0);
  EXPECT_LE(priced.learned_beyond, priced.learned);
  const Workload same = tiny("gpt-tiny", {}, 1);
  EXPECT_EQ(priced_time(same, *calibrated_cost_model(c)).learned_beyond, 0);
  EXPECT_GT(priced.learned_off, 0);
  EXPECT_NE(local_band(priced, 0).basis.find("learned from measured kernels"), std::string::npos);
}

// All predictions take the band and its words from one place.
TEST(LocalBand, StandsOnEveryPredictionForThisMachine) {
  const Workload w = tiny("mlp-small", {"dp=2", "zero=1"}, 2);
  const auto formula = physical_cost_model(w.scenario);
  for (const bool calibrated : {false, true}) {
    const auto own = calibrated ? calibrated_cost_model(measured_kernels(w, as_formula)) : nullptr;
    const CostModel& cost = own ? *own : *formula;
    Result result = estimate(w, cost);
    state_bands(result, w, cost);
    const Band band = local_band(priced_time(w, cost), cost.band());
    EXPECT_EQ(result.step.basis, band.basis);
    EXPECT_NEAR(to_seconds(result.step.low), to_seconds(result.step.value) * (1 + band.low), 2e-9);
    EXPECT_NEAR(to_seconds(result.step.high), to_seconds(result.step.value) * (1 + band.high),
                2e-9);
    ASSERT_TRUE(result.evidence.has_value());
    EXPECT_EQ(result.evidence->outside, !calibrated);
  }
}

}  // namespace
}  // namespace trainyard
