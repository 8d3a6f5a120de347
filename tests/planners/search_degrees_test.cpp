#include "planners/plans/search_degrees.h"

#include <gtest/gtest.h>

#include <stop_token>

#include "app/workspace/plans/scaling_study.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "tests/planners/random_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// A search also considers the plan's own degrees, so it cannot lose to them.
TEST(SearchDegrees, IsNeverSlowerThanTheDegreesThatThePlanHas) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(12, 3); ++seed) {
    const Scenario s = testing::random_plan(seed);
    const std::vector<std::int64_t> counts = {s.cluster.count / 2, s.cluster.count,
                                              s.cluster.count * 2};
    const ScalingStudy fixed = scaling_study(s, {.devices = counts});
    const ScalingStudy searched = scaling_study(s, {.devices = counts, .searched = true});
    for (const auto curve : {&ScalingStudy::strong, &ScalingStudy::weak})
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const ScalingPoint &a = (fixed.*curve).points[i], &b = (searched.*curve).points[i];
        ASSERT_TRUE(!a.result || b.result) << b.why_not;
        if (!a.fits()) continue;
        ASSERT_TRUE(b.fits()) << b.why_not;
        EXPECT_LE(b.result->step.value, a.result->step.value) << s.model.name << " seed " << seed;
        ++compared;
      }
  }
  EXPECT_GT(compared, 0);
}

TEST(SearchDegrees, ChangesNothingButDegrees) {
  const Scenario s =
      open({"llama-3-8b",
            "h100-sxm:16",
            "",
            {"tp=2", "zero=1", "recompute=full", "schedule=1f1b", "global-batch=64"}});
  const Scenario found = search_degrees(s, {}, {});
  const auto shared = [](const Scenario& of, std::string_view method) {
    const Plan plan = complete(of);
    return find_choice(plan, method)->params;
  };
  for (const char* method : {"zero", "recompute"})
    EXPECT_EQ(shared(found, method), shared(s, method)) << method;
  EXPECT_EQ(found.cluster, s.cluster);
  EXPECT_EQ(found.plan.batch.global, 64);
}

TEST(SearchDegrees, FindsPlansOnFewerDevicesThanThePlansDegreesTake) {
  const Scenario s =
      open({"llama-3-8b", "h100-sxm:64", "", {"tp=8", "pp=4", "zero=1", "global-batch=64"}});
  const ScalingStudy study = scaling_study(s, {.devices = {8}, .searched = true});
  EXPECT_TRUE(study.strong.points.front().fits()) << study.strong.points.front().why_not;
  EXPECT_FALSE(scaling_study(s, {.devices = {8}}).strong.points.front().result);
}

TEST(SearchDegrees, AStudyThatIsStoppedSaysWhatItDidNotReach) {
  const Scenario s = open({"gpt2", "h100-sxm:8", "", {"global-batch=8"}});
  std::stop_source stop;
  stop.request_stop();
  for (const bool searched : {false, true}) {
    const ScalingStudy study =
        scaling_study(s, {.devices = {8, 16}, .searched = searched, .stop = stop.get_token()});
    ASSERT_EQ(study.strong.points.size(), 2U);
    for (const ScalingPoint& point : study.strong.points) {
      EXPECT_FALSE(point.result);
      EXPECT_EQ(point.why_not, "stopped before this number of devices was looked at");
    }
  }
}

TEST(SearchDegrees, ReturnsThePlanNearestToFittingWhereNoneFits) {
  const Scenario s =
      open({"llama-3-70b", "h100-sxm:2", "", {"global-batch=4", "schedule=1f1b", "zero=0"}});
  const Result result = estimate(search_degrees(s, {}, {}));
  EXPECT_FALSE(result.verdict.fits);
  EXPECT_EQ(result.plan.mesh.tp * result.plan.mesh.pp, 2);
}

TEST(SearchDegrees, ABoundOpensAKnobOrRestrictsADegree) {
  const Scenario s = open({"llama-3-8b", "h100-sxm:8", "", {"tp=8", "global-batch=16"}});
  const std::vector<Bound> bounds = {{"tp", "4"}, {"recompute", "none,full"}};
  const PlanSpace space = degree_space(s, bounds);
  EXPECT_EQ(space.knobs()[space.knob("tp")].values, std::vector<std::string>{"4"});
  EXPECT_EQ(space.knobs()[space.knob("recompute")].values.size(), 2u);
  const std::vector<Bound> unknown = {{"speed", "4"}};
  EXPECT_THROW(degree_space(s, unknown), Error);
}

}  // namespace
}  // namespace trainyard
