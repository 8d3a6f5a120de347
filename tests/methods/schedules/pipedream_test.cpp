#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/flow_facts.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::flow_facts;
using testing::flow_program;
using testing::params_of;

const Params kVertical = {{"sync", std::string("vertical")}};

TEST(PipeDream, UpdatesAfterEveryMicrobatchAndStashes) {
  const Method m = pipedream();
  EXPECT_EQ(to_text(m.order({.devices = 3, .stages = 3, .microbatches = 4}, params_of(m))),
            "d0/compute  0F0 0F1 0F2 0B0 0U0@1 0F3@1 0B1 0U1@2 0B2 0U2@3 0B3@1 0U3@4\n"
            "d1/compute  1F0 1F1 1B0 1U0@1 1F2@1 1B1 1U1@2 1F3@2 1B2@1 1U2@3 1B3@2 1U3@4\n"
            "d2/compute  2F0 2B0 2U0@1 2F1@1 2B1@1 2U1@2 2F2@2 2B2@2 2U2@3 2F3@3 2B3@3 2U3@4\n");
}

TEST(PipeDream, VerticalSyncReadsWhatStageZeroHad) {
  const Method m = pipedream();
  EXPECT_EQ(
      to_text(m.order({.devices = 2, .stages = 2, .microbatches = 3}, params_of(m, kVertical))),
      "d0/compute  0F0 0F1 0B0 0U0@1 0F2@1 0B1 0U1@2 0B2@1 0U2@3\n"
      "d1/compute  1F0 1B0 1U0@1 1F1 1B1 1U1@2 1F2@1 1B2@1 1U2@3\n");
}

// p - s versions and a delay of p - 1 - s updates on stage s, forward and backward alike.
TEST(PipeDream, StashesOneVersionAMicrobatchInFlight) {
  for (int p : {1, 2, 4, 8, 16})
    for (int m : {1, 4, 16}) {
      const auto all = flow_facts(pipedream(), p, m, 2 + 4 * p / m);
      for (int s = 0; s < p; ++s) {
        const StageFacts& f = all[static_cast<std::size_t>(s)];
        EXPECT_EQ(f.versions, p - s) << p << " " << m << " " << s;
        EXPECT_EQ(f.live, p - s);
        EXPECT_EQ(f.forward_delay, p - 1 - s);
        EXPECT_EQ(f.backward_delay, p - 1 - s);
        EXPECT_EQ(f.mean_delay_thousandths, 1000 * (p - 1 - s));
        EXPECT_TRUE(f.consistent);
      }
    }
}

TEST(PipeDream, EveryBackwardReadsItsForwardsVersion) {
  for (int p : {2, 4, 8, 16})
    for (const Params& params : {Params{}, kVertical}) {
      const auto all = staleness(flow_program(pipedream(), p, 8, 6, params));
      EXPECT_EQ(all.size(), static_cast<std::size_t>(p) * 8 * 6);
      for (const Staleness& s : testing::non_empty(all)) EXPECT_TRUE(s.consistent);
    }
}

// tau = p - 1 on every stage, which therefore keeps p versions; what no microbatch of the run will
// read any more is not kept, so that a last step of fewer than p microbatches shows fewer.
TEST(PipeDream, VerticalSyncIsEquallyStaleEverywhere) {
  for (int p : {2, 4, 8, 16})
    for (int m : {1, 4, 16})
      for (const StageFacts& f :
           testing::non_empty(flow_facts(pipedream(), p, m, 2 + 4 * p / m, kVertical))) {
        EXPECT_EQ(f.forward_delay, p - 1);
        EXPECT_EQ(f.backward_delay, p - 1);
        EXPECT_EQ(f.mean_delay_thousandths, 1000 * (p - 1));
        if (m >= p) {
          EXPECT_EQ(f.versions, p);
        }
        EXPECT_EQ(f.live, p - static_cast<int>(f.stage.value));
      }
}

TEST(PipeDream, EveryShapeIsAValidOrder) {
  const Method method = pipedream();
  for (int p = 1; p <= 12; ++p)
    for (int m : {1, 2, 3, 7, 16})
      for (int steps = 1; steps <= 4; ++steps)
        for (const Params& params : {Params{}, kVertical}) {
          const ScheduleShape shape{.devices = p, .stages = p, .microbatches = m, .steps = steps};
          EXPECT_TRUE(check(method.order(shape, params_of(method, params)), shape).empty())
              << p << " " << m << " " << steps;
        }
}

TEST(PipeDream, SaysHowManyVersionsAreTooMany) {
  const Method method = pipedream();
  try {
    method.order({.devices = 2, .stages = 2, .microbatches = 1000, .steps = 33}, params_of(method));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::InvalidInput);
    EXPECT_STREQ(e.what(),
                 "pipedream would write 33000 weight versions in 33 steps of 1000 microbatches, "
                 "and an order counts to 32767; ask for fewer steps or microbatches");
  }
}

TEST(PipeDream, ChecksThePlan) {
  const Method method = pipedream();
  Scenario scenario;
  scenario.plan.mesh.dp = 1;
  scenario.plan.mesh.pp = 4;
  scenario.plan.batch.global = 8;
  EXPECT_TRUE(method.check(scenario, params_of(method)).empty());
  scenario.plan.virtual_stages = 2;
  scenario.plan.batch.global = 20000;
  const Diagnostics found = method.check(scenario, params_of(method));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].message, "pipedream has one stage per device, and virtual-stages is 2");
  EXPECT_EQ(found[0].fix, "virtual-stages=1");
  EXPECT_EQ(found[1].message,
            "pipedream would write 60000 weight versions in the 3 steps that it takes to settle, "
            "and an order counts to 32767; fewer microbatches per step need fewer");
}

}  // namespace
}  // namespace trainyard
