#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/flow_facts.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::flow_facts;
using testing::params_of;

TEST(PipeDream2BW, AStepReadsTheVersionBeforeTheNewest) {
  const Method m = pipedream_2bw();
  EXPECT_EQ(
      to_text(m.order({.devices = 2, .stages = 2, .microbatches = 2, .steps = 3}, params_of(m))),
      "d0/compute  0F0 0F1 0B0 0F2 0B1 0U0@1 0F3 0B2 0F4@1 0B3 0U1@2 0F5@1 0B4@1 0B5@1 0U2@3\n"
      "d1/compute  1F0 1B0 1F1 1B1 1U0@1 1F2 1B2 1F3 1B3 1U1@2 1F4@1 1B4@1 1F5@1 1B5@1 1U2@3\n");
}

// w(t+1) = w(t) - rate * grad f(w(t-1)): two versions and a delay of one, on every stage.
TEST(PipeDream2BW, TwoVersionsAndADelayOfOneEverywhere) {
  for (int p : {1, 2, 4, 8, 16})
    for (int m : {p, p + 1, 2 * p, 4 * p})
      for (const StageFacts& f : testing::non_empty(flow_facts(pipedream_2bw(), p, m, 5))) {
        EXPECT_EQ(f.versions, 2) << p << " " << m;
        EXPECT_EQ(f.forward_delay, 1);
        EXPECT_EQ(f.backward_delay, 1);
        EXPECT_EQ(f.mean_delay_thousandths, 1000);
        EXPECT_TRUE(f.consistent);
        EXPECT_EQ(f.live, std::min(m, p - static_cast<int>(f.stage.value)));
      }
}

TEST(PipeDream2BW, NeedsAsManyMicrobatchesAsStages) {
  const Method method = pipedream_2bw();
  Scenario scenario;
  scenario.plan.mesh.dp = 2;
  scenario.plan.mesh.pp = 4;
  scenario.plan.batch.global = 8;
  EXPECT_TRUE(method.check(scenario, {}).empty());
  scenario.plan.batch.global = 6;
  const Diagnostics found = method.check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "pipedream-2bw needs at least pp=4 microbatches per step, or a gradient would be more "
            "than one update old, and there are 3");
  EXPECT_EQ(found[0].fix, "global-batch=8");
}

}  // namespace
}  // namespace trainyard
