#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/flow_facts.h"

namespace trainyard {
namespace {

using testing::flow_facts;
using testing::params_of;

TEST(PipelinedBackprop, UpdatesAfterEverySample) {
  const Method m = pipelined_backprop();
  EXPECT_EQ(to_text(m.order({.devices = 2, .stages = 2, .microbatches = 4}, params_of(m))),
            "d0/compute  0F0 0F1 0F2 0B0 0U0@1 0F3@1 0B1@1 0U1@2 0B2@2 0U2@3 0B3@3 0U3@4\n"
            "d1/compute  1F0 1B0 1U0@1 1F1@1 1B1@1 1U1@2 1F2@2 1B2@2 1U2@3 1F3@3 1B3@3 1U3@4\n");
}

// D_s = 2(S-1-s) updates between a stage's forward and its own: S-1-s passages of the sample to the
// last stage and as many back, in each of which the stage updates once. It holds D_s + 1 samples.
TEST(PipelinedBackprop, DelayIsTwiceTheDistanceToTheLastStage) {
  for (int stages : {1, 2, 4, 8, 16, 34}) {
    const auto all = flow_facts(pipelined_backprop(), stages, 1, 6 * stages);
    for (int s = 0; s < stages; ++s) {
      const StageFacts& f = all[static_cast<std::size_t>(s)];
      const int d = 2 * (stages - 1 - s);
      EXPECT_EQ(f.forward_delay, d) << stages << " " << s;
      EXPECT_EQ(f.mean_delay_thousandths, 1000 * d);
      EXPECT_EQ(f.backward_delay, 0);
      EXPECT_EQ(f.live, d + 1);
      EXPECT_EQ(f.versions, 1);
      EXPECT_EQ(f.consistent, d == 0);
    }
  }
}

TEST(PipelinedBackprop, AStashKeepsAVersionASampleInFlight) {
  const int stages = 6;
  const auto all = flow_facts(pipelined_backprop(), stages, 4, 10, {{"stash", true}});
  for (int s = 0; s < stages; ++s) {
    const StageFacts& f = all[static_cast<std::size_t>(s)];
    EXPECT_EQ(f.versions, 2 * (stages - 1 - s) + 1);
    EXPECT_EQ(f.backward_delay, f.forward_delay);
    EXPECT_TRUE(f.consistent);
  }
}

TEST(PipelinedBackprop, APredictionIsOneMoreBufferOfTheWeights) {
  const Method m = pipelined_backprop();
  const auto arranged = [&](const char* predict, bool stash) {
    Layout layout;
    m.arrange(layout, {}, params_of(m, {{"predict", std::string(predict)}, {"stash", stash}}));
    return std::pair{layout.optimizer_bytes - Layout{}.optimizer_bytes,
                     layout.optimizer_touched_bytes - Layout{}.optimizer_touched_bytes};
  };
  for (const bool stash : {false, true}) EXPECT_EQ(arranged("none", stash), (std::pair{0, 0}));
  for (const char* predict : {"velocity", "weight"}) {
    EXPECT_EQ(arranged(predict, false), (std::pair{4, 4}));  // written by the update
    EXPECT_EQ(arranged(predict, true), (std::pair{4, 12}));  // and copied to the stash before
  }
}

TEST(PipelinedBackprop, WorksSampleBySampleAndLayerByLayer) {
  const Method method = pipelined_backprop();
  Scenario scenario;
  scenario.model.blocks.push_back({"layers", 4, true, {}});
  scenario.plan.mesh.dp = 1;
  scenario.plan.mesh.pp = 4;
  scenario.plan.batch.global = 8;
  EXPECT_TRUE(method.check(scenario, params_of(method)).empty());
  scenario.plan.batch.micro = 4;
  Diagnostics found = method.check(scenario, params_of(method));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "pipelined-backprop works sample by sample, and micro-batch is 4");
  EXPECT_EQ(found[0].fix, "micro-batch=1");
  scenario.plan.batch.micro = 1;
  scenario.model.blocks[0].count = 12;
  found = method.check(scenario, params_of(method));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Diagnostic::Severity::Warning);
  EXPECT_EQ(found[0].message,
            "pipelined-backprop is meant for a layer a stage, and 12 layers stand on 4 stages: "
            "delays are counted in stages");
}

}  // namespace
}  // namespace trainyard
