#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::layer;
using testing::mixture;
using testing::scenario;
using testing::Words;

constexpr std::int64_t kTokens = 2 * 512;  // of a microbatch
constexpr std::int64_t kWidth = 512, kInner = 1024, kExperts = 8, kTopK = 2;

Words exchanges(const std::vector<BodyOp>& ops) {
  Words found;
  for (const BodyOp& op : ops)
    if (op.group == Group::Expert)
      found.push_back(testing::words(op.collective, op.group, op.bytes.value));
  return found;
}

std::string all_to_all(std::int64_t tokens) {
  return testing::words(CollectiveKind::AllToAll, Group::Expert, tokens * kTopK * kWidth * 2);
}

TEST(ExpertParallel, EveryRoutedTokenTravelsThereAndBack) {
  const Workload w = prepare(scenario(mixture(), 8, {"ep=4", "micro-batch=2"}));
  const Words two = {all_to_all(kTokens), all_to_all(kTokens)};
  EXPECT_EQ(exchanges(layer(w).forward), two);
  EXPECT_EQ(exchanges(layer(w).backward), two);
}

// Two experts of eight, taken at random: of 4 ranks 4 (1 - (3/4)^2) = 1.75 hold one of them, of 2
// nodes 2 (1 - (1/2)^2) = 1.5.
TEST(ExpertParallel, TokensMayTravelOnceARankOrOnceANode) {
  const auto bytes = [](std::int64_t devices, const testing::Settings& settings) {
    Scenario one = scenario(mixture(), devices, settings);
    choice(one.plan, "expert-parallel").params.set("copies", std::string("rank"));
    const Workload w = prepare(one);
    for (const BodyOp& op : layer(w).forward)
      if (op.group == Group::Expert) return op.bytes.value;
    return std::int64_t{0};
  };
  constexpr std::int64_t token = kWidth * 2;
  EXPECT_EQ(bytes(8, {"ep=4", "micro-batch=2"}), kTokens * token * 7 / 4);
  EXPECT_EQ(bytes(16, {"ep=8", "tp=2", "micro-batch=2", "sp=off"}), kTokens * token * 3 / 2);
}

// What a rank dispatches is divided with its tokens.
TEST(ExpertParallel, TensorAndContextRanksSendTheirOwnTokens) {
  const auto first = [](const testing::Settings& settings) {
    return exchanges(layer(prepare(scenario(mixture(), 16, settings))).forward).at(0);
  };
  EXPECT_EQ(first({"ep=4", "micro-batch=2", "cp=2"}), all_to_all(kTokens / 2));
  EXPECT_EQ(first({"ep=4", "micro-batch=2", "tp=2"}), all_to_all(kTokens / 2));
  EXPECT_EQ(first({"ep=4", "micro-batch=2", "tp=2", "sp=off"}), all_to_all(kTokens));
}

TEST(ExpertParallel, ExchangesStandAtDispatchAndCombine) {
  const Workload w = prepare(scenario(mixture(), 8, {"ep=4", "tp=2"}));
  Words routed = testing::names(layer(w).forward);
  routed.erase(routed.begin(), std::find(routed.begin(), routed.end(), "router"));
  EXPECT_EQ(routed,
            (Words{"router", "dispatch", "[send tokens to experts]", "[gather dispatch]",
                   "experts.gate_proj", "experts.up_proj", "experts.act", "experts.down_proj",
                   "[reduce experts.down_proj]", "[return tokens]", "combine", "mlp_add"}));
}

TEST(ExpertParallel, BackwardIsTheSameRoadReversed) {
  const Workload w = prepare(scenario(mixture(), 8, {"ep=4"}));
  Words routed;
  for (const BodyOp& op : layer(w).backward)
    if (op.group == Group::Expert || op.name == "combine" || op.name == "dispatch")
      routed.push_back(op.name);
  EXPECT_EQ(routed,
            (Words{"combine", "send gradients to experts", "return gradients", "dispatch"}));
}

TEST(ExpertParallel, DividesExpertsAndNothingElse) {
  const LocalParameters whole = layer(prepare(scenario(mixture(), 8, {}))).parameters,
                        cut = layer(prepare(scenario(mixture(), 8, {"ep=4"}))).parameters,
                        both = layer(prepare(scenario(mixture(), 8, {"ep=4", "tp=2"}))).parameters;
  EXPECT_EQ(whole.expert, kExperts * 3 * kWidth * kInner);
  EXPECT_EQ(cut.expert, kExperts / 4 * 3 * kWidth * kInner);
  EXPECT_EQ(both.expert, kExperts / 4 * 3 * kWidth * kInner / 2);
  EXPECT_EQ(cut.dense, whole.dense);
}

// Loads are taken as balanced: a rank computes as many copies as it has sent.
TEST(ExpertParallel, WorkOfARankStaysTheSame) {
  const auto flops = [](const Workload& w) {
    double sum = 0;
    for (const BodyOp& op : layer(w).forward)
      if (op.name.substr(0, 8) == "experts.") sum += op.work.flops.value;
    return sum;
  };
  EXPECT_EQ(flops(prepare(scenario(mixture(), 8, {"ep=8"}))),
            flops(prepare(scenario(mixture(), 8, {}))));
}

TEST(ExpertParallel, DegreeDividesExperts) {
  const Diagnostics found = check_of("expert-parallel", scenario(mixture(), 24, {"ep=3"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "ep=3 does not divide 8 experts");
  EXPECT_EQ(found[0].fix, "ep=2");
  EXPECT_EQ(found[0].place.text, "plan#/mesh/ep");
}

TEST(ExpertParallel, RanksComeFromTheReplicas) {
  const Diagnostics found = check_of("expert-parallel", scenario(mixture(), 8, {"ep=8", "tp=2"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "ep=8 takes its ranks from dp x cp = 4, which it does not divide");
  EXPECT_EQ(found[0].fix, "ep=4");
}

TEST(ExpertParallel, NeedsExperts) {
  const Diagnostics found = check_of("expert-parallel", scenario(gpt(), 8, {"ep=2"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "ep=2 spreads experts, and gpt has none");
  EXPECT_EQ(found[0].fix, "ep=1");
}

}  // namespace
}  // namespace trainyard
