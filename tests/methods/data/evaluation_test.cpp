// Tests how a plan says when it is evaluated and by whom, and that a step is what it was.
#include "core/methods/data/evaluation.h"

#include <gtest/gtest.h>

#include "core/lowering/lower.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::scenario;
using testing::Settings;

std::string finding_of(std::int64_t devices, const Settings& settings) {
  const Diagnostics found = check_of("evaluation", scenario(gpt(), devices, settings));
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

TEST(EvaluationOfAPlan, ChangesNothingOfAStep) {
  const Workload plain = prepare(scenario(gpt(), 4, {"pp=2"})),
                 evaluated = prepare(scenario(gpt(), 4, {"pp=2", "evaluation=distributed"}));
  EXPECT_EQ(digest(lower(plain, {})), digest(lower(evaluated, {})));
}

TEST(EvaluationOfAPlan, IsReadAndTakenBack) {
  Plan plan;
  EXPECT_EQ(setting(plan, "evaluation"), "none");
  apply_setting(plan, "distributed-evaluation=one");
  EXPECT_EQ(setting(plan, "evaluation"), "one");
  apply_setting(plan, "evaluation=none");
  EXPECT_EQ(plan, Plan{});
}

TEST(EvaluationOfAPlan, ReplicasTakeAPartEach) {
  const auto of = [](Settings settings) {
    return evaluation_of(prepare(scenario(gpt(), 8, settings)).scenario.plan);
  };
  EXPECT_FALSE(of({}));
  const auto one = of({"evaluation=one", "evaluation.samples=1001"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->replicas, 1);
  EXPECT_EQ(one->most(), 1001);
  EXPECT_EQ(one->every, 1000);
  const auto all = of({"evaluation=distributed", "evaluation.samples=1001", "tp=2"});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->replicas, 4);
  EXPECT_EQ(all->most(), 251);
}

TEST(EvaluationOfAPlan, Refusals) {
  EXPECT_EQ(finding_of(4, {"evaluation=distributed", "zero=3"}), "");
  EXPECT_EQ(finding_of(1, {"evaluation=one", "zero=3"}), "");
  EXPECT_EQ(finding_of(4, {"evaluation=one", "zero=3"}),
            "one replica evaluates while the others wait, and with zero=3 it has only a part of "
            "the weights -> evaluation=distributed");
  EXPECT_EQ(finding_of(4, {"evaluation=one", "pp=2", "schedule=pipedream"}),
            "a training is evaluated between steps, when no microbatch is under way, and pipedream "
            "updates while microbatches are under way -> schedule=1f1b");
  EXPECT_EQ(finding_of(4, {"evaluation.every=10"}),
            "the plan says how a training is evaluated, and with evaluation=none it never is: "
            "nothing changes -> evaluation=distributed");
}

}  // namespace
}  // namespace trainyard
