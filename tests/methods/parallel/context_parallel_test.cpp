#include <gtest/gtest.h>

#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::collectives;
using testing::gpt;
using testing::layer;
using testing::scenario;
using testing::Words;

constexpr std::int64_t kTokens = 2 * 512;  // of a microbatch

std::string ring(CollectiveKind kind, std::int64_t bytes) {
  return testing::words(kind, Group::Context, bytes);
}

// Keys and values of the whole sequence, 2 x 2sbh bytes; backward they come round again and their
// gradients with them.
TEST(ContextParallel, KeysAndValuesPassEveryRank) {
  const std::int64_t bytes = 2 * 2 * kTokens * 1024;
  const Workload w = prepare(scenario(gpt(), 4, {"cp=4", "micro-batch=2"}));
  EXPECT_EQ(collectives(layer(w).forward), (Words{ring(CollectiveKind::AllGather, bytes)}));
  EXPECT_EQ(collectives(layer(w).backward), (Words{ring(CollectiveKind::AllGather, bytes),
                                                   ring(CollectiveKind::ReduceScatter, bytes)}));
}

TEST(ContextParallel, GroupedQueriesPassFewerAndTensorRanksDivideThem) {
  const std::int64_t head = 32, kv_heads = 4, bytes = 2 * 2 * kTokens * kv_heads * head;
  const auto first = [](const Workload& w) {
    for (const BodyOp& op : layer(w).forward)
      if (op.communication && op.group == Group::Context) return op.bytes.value;
    return std::int64_t{0};
  };
  const Scenario one = scenario(testing::mixture(), 4, {"cp=4", "micro-batch=2"}),
                 two = scenario(testing::mixture(), 8, {"cp=4", "tp=2", "micro-batch=2"});
  EXPECT_EQ(first(prepare(one)), bytes);
  EXPECT_EQ(first(prepare(two)), bytes / 2);
}

TEST(ContextParallel, DividesActivations) {
  const Workload whole = prepare(scenario(gpt(), 1, {"micro-batch=2"})),
                 cut = prepare(scenario(gpt(), 4, {"cp=4", "micro-batch=2"})),
                 both = prepare(scenario(gpt(), 8, {"cp=4", "tp=2", "micro-batch=2"}));
  EXPECT_EQ(saved_bytes(layer(cut)).value * 4, saved_bytes(layer(whole)).value);
  EXPECT_EQ(saved_bytes(layer(both)).value * 8, saved_bytes(layer(whole)).value);
}

// Parameters are not divided, and their gradients are reduced over dp x cp.
TEST(ContextParallel, ItsRanksAreReplicasOfTheWeights) {
  const Workload whole = prepare(scenario(gpt(), 1, {})),
                 cut = prepare(scenario(gpt(), 8, {"cp=4"}));
  const std::int64_t n = layer(whole).parameters.dense;
  EXPECT_EQ(layer(cut).parameters.dense, n);
  EXPECT_EQ(collectives(layer(cut).reduce),
            (Words{testing::words(CollectiveKind::AllReduce, Group::Data, 4 * n)}));
  EXPECT_EQ(ranks(cut.scenario.plan.mesh, Group::Data), 8);
}

TEST(ContextParallel, CutsTheSequenceIntoTwicePieces) {
  const Diagnostics found = check_of("context-parallel", scenario(gpt(), 8, {"cp=8", "seq=500"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "cp=8 cuts the sequence into 16 pieces, and 500 tokens leave a remainder of 4");
  EXPECT_EQ(found[0].place.text, "plan#/mesh/cp");
  EXPECT_EQ(found[0].fix, "seq=512");
  EXPECT_TRUE(check_of("context-parallel", scenario(gpt(), 8, {"cp=8", "seq=512"})).empty());
}

TEST(ContextParallel, NeedsASequence) {
  const Diagnostics found =
      check_of("context-parallel", scenario(zoo_model("resnet-50"), 8, {"cp=2"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "cp=2 divides a sequence, and resnet-50 has none");
  EXPECT_EQ(found[0].fix, "cp=1");
}

TEST(ContextParallel, RefusesASequenceThatIsReadStepByStep) {
  const Diagnostics found =
      check_of("context-parallel", scenario(zoo_model("lstm-tiny"), 8, {"cp=2"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "cp=2 divides a sequence, and lstm-tiny reads its own step by step");
  EXPECT_EQ(found[0].fix, "cp=1");
}

}  // namespace
}  // namespace trainyard
