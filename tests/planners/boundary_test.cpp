// Both sides of a boundary are estimated again, and no other value lies between them.
#include "planners/sensitivity/boundary.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "tests/planners/random_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Scenario sharded() {
  return open({"llama-3-8b", "h100-sxm:64", "", {"zero=3", "global-batch=512", "seq=8192"}});
}

// The scenario of a value, its batch and sequence kept where the value does not say them.
Result answer(const Scenario& scenario, const KnobValue& v) {
  Scenario other = with_devices(scenario, v.devices);
  other.plan.batch = complete(scenario).batch;
  apply_words(other.plan, v.words);
  return estimate(other);
}

TEST(Boundary, HoldsOnBothSidesOfRandomPlans) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(40, 8); ++seed) {
    const Scenario scenario = testing::random_plan(seed);
    for (const std::string_view key : testing::non_empty(largest_keys())) {
      if (key == "seq" && !scenario.model.tokens) continue;
      const KnobBoundary b = largest(scenario, key, testing::costs());
      if (b.last) {
        const Result said = answer(scenario, *b.last);
        EXPECT_TRUE(said.verdict.fits) << key;
        EXPECT_EQ(said.verdict.margin, b.last->figures.margin);
        EXPECT_EQ(said.step.value, b.last->figures.step);
      }
      if (b.next && b.next->legal) {
        const Result said = answer(scenario, *b.next);
        EXPECT_FALSE(said.verdict.fits) << key;
        EXPECT_EQ(said.verdict.margin, b.next->figures.margin);
      }
      if (!b.last || !b.next) continue;
      ++found;
      const std::int64_t last = std::stoll(b.last->value), next = std::stoll(b.next->value);
      ASSERT_LT(last, next);
      const Plan plan = complete(scenario);
      if (key == "global-batch") {
        EXPECT_EQ(next - last, plan.batch.global / plan.batch.micro);
      }
      if (key == "seq" && plan.batch.sequence >= 1024) {
        EXPECT_EQ((next - last) % 128, 0);
        EXPECT_LE(next - last, 128 * plan.mesh.tp * plan.mesh.cp);
      }
      // Every microbatch between them is illegal, or over.
      if (key == "micro-batch")
        for (std::int64_t size = last + 1; size < next; ++size) {
          Scenario other = scenario;
          other.plan.batch = plan.batch;
          other.plan.batch.micro = size;
          EXPECT_TRUE(has_errors(check(other))) << size;
        }
    }
  }
  EXPECT_GT(found, static_cast<int>(testing::cases(20, 2)));
}

TEST(Boundary, TheFewestDevicesAreTheFewest) {
  const KnobBoundary b = fewest_devices(sharded(), testing::costs());
  ASSERT_TRUE(b.last);
  const std::int64_t fewest = std::stoll(b.last->value);
  EXPECT_TRUE(answer(sharded(), *b.last).verdict.fits);
  ASSERT_TRUE(b.next);
  EXPECT_LT(std::stoll(b.next->value), fewest);
  int tried = 0;
  for (std::int64_t devices = 1; devices < fewest; ++devices)
    for (int tp = 1; tp <= devices; ++tp)
      for (int pp = 1; tp * pp <= devices; ++pp) {
        if (devices % (tp * pp) != 0) continue;
        try {
          Scenario other = with_devices(sharded(), devices);
          other.plan.mesh.tp = tp, other.plan.mesh.pp = pp;
          if (has_errors(check(other))) continue;
          ++tried;
          EXPECT_FALSE(estimate(other).verdict.fits) << devices << " " << tp << " " << pp;
        } catch (const Error&) {
          continue;  // devices that do not make whole nodes
        }
      }
  EXPECT_GT(tried, 2);
}

TEST(Boundary, SaysThatNothingFits) {
  const Scenario scenario =
      open({"llama-3-70b", "h100-sxm:8", "", {"tp=8", "global-batch=8", "seq=8192"}});
  const KnobBoundary b = largest(scenario, "micro-batch", testing::costs());
  EXPECT_FALSE(b.last);
  ASSERT_TRUE(b.next);
  EXPECT_EQ(b.next->value, "1");
  EXPECT_NE(b.sentence.find("not even 1 fits"), std::string::npos) << b.sentence;
  // Twenty-four more devices hold it.
  const KnobBoundary devices = fewest_devices(scenario, testing::costs());
  ASSERT_TRUE(devices.last) << devices.sentence;
  EXPECT_GT(std::stoll(devices.last->value), 8);
}

TEST(Boundary, AFigureThatIsNoneIsAnswered) {
  EXPECT_THROW(largest(sharded(), "sequence-lenght", testing::costs()), Error);
}

}  // namespace
}  // namespace trainyard
