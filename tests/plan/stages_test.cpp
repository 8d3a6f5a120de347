#include "core/plan/stages.h"
#include "core/plan/balanced.h"
#include "tests/support/non_empty.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace trainyard {
namespace {

Block block(std::string name, int count, bool layer) {
  Block made;
  made.name = std::move(name), made.count = count, made.layer = layer;
  return made;
}

Model transformer(int layers) {
  Model model;
  model.name = "test";
  model.blocks = {block("embedding", 1, false), block("layers", layers, true),
                  block("norm", 1, false), block("head", 1, false)};
  return model;
}

Plan staged(int pp, int virtual_stages = 1, std::vector<int> split = {}) {
  Plan plan;
  plan.mesh.pp = pp;
  plan.virtual_stages = virtual_stages;
  plan.split.layers = std::move(split);
  return plan;
}

/// "embedding 0+1 layers 0+4 | layers 4+4 norm 0+1": block, first and count of each run.
std::string text(const Model& model, const std::vector<Stage>& table) {
  std::string line;
  for (const Stage& stage : table) {
    line += line.empty() ? "" : " |";
    for (const LayerRun& run : stage.runs)
      line += (line.empty() ? "" : " ") + model.blocks[static_cast<std::size_t>(run.block)].name +
              " " + std::to_string(run.first) + "+" + std::to_string(run.count);
  }
  return line;
}

std::string refusal(int layers, const Plan& plan) {
  const Diagnostics found = check_split(transformer(layers), plan);
  if (found.size() != 1) return std::to_string(found.size()) + " diagnostics";
  return found[0].place.text + ": " + found[0].message +
         (found[0].fix.empty() ? "" : " [" + found[0].fix + "]");
}

TEST(Stages, LayersAreDividedEvenlyAndTheRestJoinsTheEnds) {
  const Model model = transformer(8);
  EXPECT_EQ(text(model, stages(model, staged(2))),
            "embedding 0+1 layers 0+4 | layers 4+4 norm 0+1 head 0+1");
  EXPECT_EQ(text(model, stages(model, staged(1))), "embedding 0+1 layers 0+8 norm 0+1 head 0+1");
}

TEST(Stages, VirtualStagesGoRoundTheDevices) {
  const std::vector<Stage> table = stages(transformer(8), staged(2, 2));
  ASSERT_EQ(table.size(), 4u);
  for (std::uint32_t s = 0; s < 4; ++s) EXPECT_EQ(table[s].device, DeviceId{s % 2});
}

TEST(Stages, AGivenSplitIsFollowed) {
  const Model model = transformer(8);
  EXPECT_EQ(text(model, stages(model, staged(3, 1, {0, 5, 3}))),
            "embedding 0+1 | layers 0+5 | layers 5+3 norm 0+1 head 0+1");
}

TEST(Stages, ABlockBetweenLayersStaysWithTheLayerBeforeIt) {
  Model model;
  model.blocks = {block("encoder", 3, true), block("norm", 1, false), block("decoder", 3, true)};
  EXPECT_EQ(text(model, stages(model, staged(2))), "encoder 0+3 norm 0+1 | decoder 0+3");
  EXPECT_EQ(text(model, stages(model, staged(3))),
            "encoder 0+2 | encoder 2+1 norm 0+1 decoder 0+1 | decoder 1+2");
}

TEST(Stages, AModelWithoutLayersFitsOneStage) {
  Model model;
  model.blocks = {block("table", 1, false), block("head", 1, false)};
  EXPECT_EQ(text(model, stages(model, staged(1))), "table 0+1 head 0+1");
  EXPECT_TRUE(has_errors(check_split(model, staged(2))));
  Plan balanced = staged(2);
  balanced.split = balanced_later();
  EXPECT_TRUE(has_errors(check_split(model, balanced)));
  EXPECT_TRUE(has_errors(check_split(model, staged(2, 1, {0, 0}))));
}

TEST(Stages, RefusalsNameTheWayOut) {
  EXPECT_EQ(refusal(80, staged(7)),
            "plan#/split: 80 layers do not divide into 7 stages: 11 or 12 each; pp=5 and pp=8 "
            "divide them [split=12,12,12,11,11,11,11]");
  EXPECT_EQ(refusal(5, staged(2, 2)),
            "plan#/split: 5 layers do not divide into 4 stages: 1 or 2 each [split=2,1,1,1]");
  EXPECT_EQ(refusal(12, staged(16)),
            "plan#/mesh/pp: 12 layers cannot fill 16 stages: each needs at least one [pp=12]");
  EXPECT_EQ(refusal(12, staged(4, 4)),
            "plan#/mesh/pp: 12 layers cannot fill 16 stages (pp 4 x virtual-stages 4): each needs "
            "at least one [pp=3]");
  EXPECT_EQ(refusal(8, staged(2, 1, {4, 5})),
            "plan#/split: the split adds up to 9 layers, but test has 8 [split=even]");
  EXPECT_EQ(refusal(8, staged(2, 1, {4, 2, 2})),
            "plan#/split: the split names 3 stages, but pp 2 x virtual-stages 1 make 2 "
            "[split=even]");
  EXPECT_EQ(refusal(8, staged(3, 1, {4, 0, 4})),
            "plan#/split/1: stage 1 has no layers; each needs at least one");
  EXPECT_EQ(refusal(8, staged(2, 1, {9, -1})),
            "plan#/split/1: expected layers of at least 0, found -1");
  EXPECT_EQ(refusal(8, staged(0)), "plan#/mesh/pp: expected pp of at least 1, found 0 [pp=1]");
  EXPECT_EQ(refusal(8, staged(1, 0)),
            "plan#/virtual_stages: expected virtual-stages of at least 1, found 0 "
            "[virtual-stages=1]");
  EXPECT_THROW(stages(transformer(80), staged(7)), Error);
}

TEST(Stages, EveryLayerIsSomewhereOnceAndInOrder) {
  EXPECT_TRUE(rc::check([] {
    const auto split =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 5)));
    const Model model = transformer(std::accumulate(split.begin(), split.end(), 0));
    const std::vector<Stage> table =
        stages(model, staged(static_cast<int>(split.size()), 1, split));
    RC_ASSERT(table.size() == split.size());
    int next = 0;
    for (std::size_t s = 0; s < table.size(); ++s) {
      int here = 0;
      for (const LayerRun& run : testing::non_empty(table[s].runs)) {
        if (!model.blocks[static_cast<std::size_t>(run.block)].layer) continue;
        RC_ASSERT(run.first == next);
        next += run.count, here += run.count;
      }
      RC_ASSERT(here == split[s]);
    }
    RC_ASSERT(next == layer_count(model));
  }));
}

}  // namespace
}  // namespace trainyard
