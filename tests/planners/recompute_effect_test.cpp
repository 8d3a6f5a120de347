#include "planners/sensitivity/recompute_effect.h"

#include <gtest/gtest.h>

#include "tests/planners/random_plans.h"

namespace trainyard {
namespace {

RecomputeEffect effect(const std::string& model, const std::vector<std::string>& settings) {
  return recompute_effect(open({model, "h100-sxm:8", "", settings}), testing::costs());
}

bool says(const RecomputeEffect& e, const std::string& words) {
  return e.sentence.find(words) != std::string::npos;
}

TEST(RecomputeEffect, SelectiveFreesNothingUnderFusedAttention) {
  const RecomputeEffect e = effect("llama-3-8b", {"zero=3", "recompute=selective"});
  EXPECT_EQ(e.kept_with, e.kept_without);
  EXPECT_TRUE(says(e, "frees nothing")) << e.sentence;
  EXPECT_TRUE(says(e, "fused attention never keeps them")) << e.sentence;
}

TEST(RecomputeEffect, SelectiveFreesTheScoresOfUnfusedAttention) {
  const RecomputeEffect e =
      effect("llama-3-8b", {"zero=3", "recompute=selective", "flash-attention=off"});
  EXPECT_LT(e.kept_with, e.kept_without);
  EXPECT_LT(e.reserved_with, e.reserved_without);
  EXPECT_FALSE(says(e, "nothing")) << e.sentence;
}

TEST(RecomputeEffect, WithoutAttentionSelectiveHasNothingToDrop) {
  const RecomputeEffect e = effect("resnet-20", {"recompute=selective", "global-batch=64"});
  EXPECT_TRUE(says(e, "frees nothing")) << e.sentence;
}

TEST(RecomputeEffect, FullSaysHowMuchItFrees) {
  const Scenario with = open({"llama-3-8b", "h100-sxm:8", "", {"zero=3", "recompute=full"}});
  const Scenario without = open({"llama-3-8b", "h100-sxm:8", "", {"zero=3"}});
  const RecomputeEffect e = recompute_effect(with, testing::costs());
  EXPECT_EQ(e.reserved_without - e.reserved_with,
            estimate(with).verdict.margin - estimate(without).verdict.margin);
  EXPECT_TRUE(says(e, "the peak falls by")) << e.sentence;
}

// Only the first stage of a deep pipeline keeps many microbatches; without these, the last stage,
// which holds the logits, is the fullest.
TEST(RecomputeEffect, NamesTheDeviceThatIsFullestThen) {
  const RecomputeEffect e = recompute_effect(
      open({"llama-3-8b", "h100-sxm:8", "", {"pp=8", "global-batch=32", "recompute=full"}}),
      testing::costs());
  EXPECT_EQ(e.worst_without, DeviceId{0});
  EXPECT_EQ(e.worst_with, DeviceId{7});
  EXPECT_TRUE(says(e, "device 7 is the fullest then")) << e.sentence;
}

TEST(RecomputeEffect, WithoutAPolicyEverythingIsKept) {
  const RecomputeEffect e = effect("llama-3-8b", {"zero=3"});
  EXPECT_EQ(e.reserved_with, e.reserved_without);
  EXPECT_TRUE(says(e, "everything that backward reads is kept")) << e.sentence;
}

}  // namespace
}  // namespace trainyard
