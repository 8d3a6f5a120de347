#include "core/estimate/scaling.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/result/figures.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"
#include "tests/support/random_scenarios.h"
#include "tests/support/scaling_studies.h"

namespace trainyard {
namespace {

using testing::made_scenario;
using testing::made_study;

Result closed_form(const Scenario& s) { return estimate(prepare(s), *physical_cost_model(s)); }

Scenario drawn() { return testing::DrawnScenario(*rc::gen::arbitrary<std::uint64_t>()).scenario(); }

std::vector<const ScalingPoint*> points_of(const ScalingStudy& study) {
  std::vector<const ScalingPoint*> all;
  for (const ScalingCurve* curve : {&study.strong, &study.weak})
    for (const ScalingPoint& point : curve->points) all.push_back(&point);
  return all;
}

TEST(Scaling, DevicesThatShareAllWorkAreAlwaysWorthTheirShare) {
  const ScalingStudy study = made_study({.work = 0.064});
  ASSERT_EQ(study.strong.points.front().devices, 2);
  const Duration first = study.strong.points.front().result->step.value;
  for (const ScalingPoint* point : points_of(study)) {
    EXPECT_NEAR(*point->efficiency, 1, 1e-9);
    if (point->devices > 2) {
      EXPECT_NEAR(point->added->value, 1, 1e-9);
    }
  }
  for (const ScalingPoint& point : testing::non_empty(study.strong.points))
    EXPECT_NEAR(to_seconds(point.result->step.value) * static_cast<double>(point.devices),
                to_seconds(first) * 2, 1e-6);
  for (const ScalingPoint& point : testing::non_empty(study.weak.points))
    EXPECT_NEAR(to_seconds(point.result->step.value), to_seconds(first) / 4, 1e-6);
  EXPECT_EQ(study.strong.pays, study.strong.points.size() - 1);
  EXPECT_FALSE(study.strong.stops);
}

// With W seconds of shared work and c that stay, a doubling from N brings (W/N + c)/(W/2N + c) - 1.
// It is one half where W/N = 2 c. With W = 64 s and c = 0.9 s that lies between 32 and 64 devices,
// so that 64 still pay and 128 do not.
TEST(Scaling, StopsPayingWhereADoublingBringsLessThanHalf) {
  const ScalingStudy study = made_study({.work = 1, .serial = 0.9});
  EXPECT_EQ(study.strong.points[*study.strong.pays].devices, 64);
  EXPECT_EQ(study.strong.points[*study.strong.stops].devices, 128);
  EXPECT_NEAR(study.strong.points[*study.strong.pays].added->value, 2.9 / 1.9 - 1, 1e-6);
  EXPECT_NEAR(study.strong.points[*study.strong.stops].added->value, 1.9 / 1.4 - 1, 1e-6);
  EXPECT_EQ(
      pays_sentence(study.strong),
      "Strong scaling pays up to 64 devices: those added at 128 bring only 36 % (36 to 36) of "
      "their share of throughput, less than 50 %.");
  EXPECT_FALSE(study.weak.stops);  // the part that stays is the same share of every step
  EXPECT_EQ(study.strong.points[*study.strong.cheapest].devices, 2);
}

TEST(Scaling, BandsThatOverlapAreSaid) {
  const auto says = [](double band) {
    return pays_sentence(made_study({.work = 1, .serial = 0.9, .band = band}).strong);
  };
  EXPECT_EQ(says(0.01).find("the bands"), std::string::npos) << says(0.01);
  EXPECT_NE(says(0.1).find("the bands allow both sides of 50 %"), std::string::npos) << says(0.1);
  EXPECT_NE(says(0.2).find("whether they are faster cannot be told"), std::string::npos);
}

TEST(Scaling, NothingIsDroppedInSilence) {
  const ScalingStudy study = made_study({.most = 16}, {1, 3, 8, 12, 16, 32});
  for (const ScalingPoint* point : points_of(study))
    EXPECT_EQ(point->why_not.empty(), point->fits()) << point->devices;
  EXPECT_EQ(study.strong.points[5].why_not, "Does not fit: 2 GiB over");
  EXPECT_FALSE(study.strong.points[5].efficiency);
  EXPECT_NE(study.strong.points[3].why_not.find("12 devices do not fill nodes of 8"),
            std::string::npos)
      << study.strong.points[3].why_not;
  Scenario s = made_scenario();
  s.plan.batch.global = 12;
  const ScalingStudy small =
      scaling(s, {{4, 6}, false}, [](const Scenario& at) { return testing::made_result(at, {}); });
  EXPECT_EQ(small.weak.points[0].global_batch, 6);
  EXPECT_EQ(small.weak.points[1].global_batch, 9);
  s.plan.batch.global = 4;
  EXPECT_EQ(
      scaling(s, {{1}, false}, [](const Scenario& at) { return testing::made_result(at, {}); })
          .weak.points[0]
          .why_not,
      "a batch of 4 samples on 8 devices is no whole number of samples on 1");
}

TEST(Scaling, OneNumberOfDevicesIsNoCurve) {
  EXPECT_EQ(pays_sentence(made_study({}, {8}).strong),
            "Strong scaling: of these numbers of devices the plan fits on 8 only.");
  EXPECT_EQ(pays_sentence(made_study({.most = 1}, {8}).strong),
            "Strong scaling: the plan fits on none of these numbers of devices.");
}

TEST(Scaling, CountsBeginWithOneReplica) {
  Scenario s = made_scenario();
  EXPECT_EQ(scaling_counts(s, false), (std::vector<std::int64_t>{2, 4, 8, 16, 32, 64, 128}));
  EXPECT_EQ(scaling_counts(s, true), (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128}));
  s = {zoo_model("mixtral-8x7b"), parse_cluster("h100-sxm:32"), {}};
  for (const char* word : {"tp=2", "ep=8", "global-batch=64"}) apply_setting(s.plan, word);
  EXPECT_EQ(scaling_counts(s, false).front(), 16);
}

TEST(Scaling, WeakScalingIsFreeWhereNothingIsSent) {
  Scenario s{zoo_model("gpt2"), parse_cluster("h100-sxm:8"), {}};
  apply_setting(s.plan, "global-batch=64");
  s.cluster.name = "ideal";
  for (Level& level : s.cluster.levels)
    level.bandwidth.value = {1e18}, level.latency.value = {}, level.size = 1024;
  s.cluster.levels.resize(1);
  const ScalingStudy study = scaling(s, {{2, 8, 64}, false}, closed_form);
  for (const ScalingPoint& point : testing::non_empty(study.weak.points)) {
    ASSERT_TRUE(point.fits()) << point.why_not;
    EXPECT_NEAR(*point.efficiency, 1, 0.01) << point.devices;
  }
}

RC_GTEST_PROP(Scaling, OwnNumberOfDevicesIsTheEstimateToTheNanosecond, ()) {
  const Scenario s = drawn();
  const Result expected = closed_form(s);
  const ScalingStudy study = scaling(s, {{s.cluster.count}, false}, closed_form);
  for (const ScalingPoint* point : points_of(study)) {
    RC_ASSERT(point->result.has_value());
    RC_ASSERT(point->result->step.value == expected.step.value);
    RC_ASSERT(point->result->verdict.margin == expected.verdict.margin);
    RC_ASSERT(point->fits() == expected.verdict.fits);
  }
}

RC_GTEST_PROP(Scaling, RateAndMoneyFollowFromStepAndDevices, ()) {
  const Scenario s = drawn();
  const ScalingStudy study = scaling(s, {}, closed_form);
  for (const ScalingPoint* point : points_of(study)) {
    RC_ASSERT(point->why_not.empty() == point->fits());
    if (!point->result) continue;
    const Result& r = *point->result;
    const double step = to_seconds(r.step.value),
                 work = static_cast<double>(point->global_batch) *
                        (r.documents           ? r.documents->width
                         : study.counts_tokens ? static_cast<double>(r.plan.batch.sequence)
                                               : 1);
    RC_ASSERT(std::abs(rate(r).value * step / work - 1) < 1e-12);
    RC_ASSERT(r.devices == point->devices);
    const auto money = money_for_work(r);
    if (!money) continue;
    const Device& device = s.cluster.device;
    const double price = (device.price_low->value + device.price_high->value) / 2;
    const double expected =
        static_cast<double>(point->devices) * price * step / 3600 / work * study.per();
    RC_ASSERT(std::abs(money->value / expected - 1) < 1e-12);
  }
}

// Schedules that order their passes by their times may find a worse order for better times; and
// where rounds of microbatches are not alike, the closed form tells one of many to within a
// percent.
TEST(Scaling, AFasterLinkIsNeverSlower) {
  const std::vector<std::string> of_one_order = {"gpipe", "1f1b",     "interleaved", "zb-h1",
                                                 "zb-h2", "dualpipe", "dualpipe-v",  "chimera"};
  const std::uint64_t n = testing::cases(300, 30);
  for (std::uint64_t seed = 0; seed < n; ++seed) {
    Scenario usual = testing::DrawnScenario(seed, of_one_order).scenario();
    usual.cluster.name = "usual";  // a cluster of a known name keeps its own links
    Scenario faster = usual;
    faster.cluster.name = "faster";
    for (Level& level : faster.cluster.levels) level.bandwidth.value.value *= 2;
    const std::vector<std::int64_t> counts = scaling_counts(usual, false);
    const ScalingStudy a = scaling(usual, {counts, false}, closed_form),
                       b = scaling(faster, {counts, false}, closed_form);
    const std::vector<const ScalingPoint*> slow = points_of(a), fast = points_of(b);
    for (std::size_t i = 0; i < slow.size(); ++i) {
      ASSERT_EQ(slow[i]->result.has_value(), fast[i]->result.has_value()) << seed;
      if (slow[i]->result) {
        EXPECT_LE(to_seconds(fast[i]->result->step.value),
                  1.01 * to_seconds(slow[i]->result->step.value))
            << seed << " " << testing::in_words(usual);
      }
    }
  }
}

}  // namespace
}  // namespace trainyard
