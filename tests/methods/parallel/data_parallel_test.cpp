#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::collectives;
using testing::gpt;
using testing::layer;
using testing::scenario;
using testing::words;
using testing::Words;

TEST(DataParallel, OneReductionOfEveryGradientAStep) {
  const Workload w = prepare(scenario(gpt(), 8, {}));
  std::int64_t reduced = 0;
  for (const Workload::Run& run : w.runs[0])
    for (const BodyOp& op : w.bodies[static_cast<std::size_t>(run.body)].reduce)
      reduced += op.bytes.value * run.count;
  EXPECT_EQ(reduced, 4 * parameters(w.scenario.model));  // bf16 accumulates in 4 bytes
  EXPECT_EQ(collectives(layer(w).reduce),
            (Words{words(CollectiveKind::AllReduce, Group::Data, 4 * layer(w).parameters.dense)}));
  EXPECT_FALSE(w.layout.reduce_every_microbatch);
}

TEST(DataParallel, ReducesInTheFormatOfGradients) {
  const Workload w = prepare(scenario(gpt(), 8, {"precision=fp16"}));
  EXPECT_EQ(layer(w).reduce.at(0).bytes.value, 2 * layer(w).parameters.dense);
}

TEST(DataParallel, OneReplicaHasNobodyToReduceWith) {
  EXPECT_TRUE(layer(prepare(scenario(gpt(), 8, {"tp=8"}))).reduce.empty());
  EXPECT_TRUE(layer(prepare(scenario(gpt(), 1, {}))).reduce.empty());
}

TEST(DataParallel, HoldsTheWholeStateOnEveryReplica) {
  const Workload w = prepare(scenario(gpt(), 64, {"precision=fp16"}));
  const StateBytes state = state_bytes(layer(w), w.layout);
  EXPECT_EQ((state.weights + state.gradients + state.optimizer).value,
            16 * layer(w).parameters.dense);
}

// Experts have replicas of their own: the ranks that hold the same ones.
TEST(DataParallel, ExpertsAreReducedAmongThoseThatHoldThem) {
  const Workload w = prepare(scenario(testing::mixture(), 8, {"ep=4"}));
  const LocalParameters& p = layer(w).parameters;
  EXPECT_EQ(collectives(layer(w).reduce),
            (Words{words(CollectiveKind::AllReduce, Group::Data, 4 * p.dense),
                   words(CollectiveKind::AllReduce, Group::ExpertData, 4 * p.expert)}));
  EXPECT_EQ(ranks(w.scenario.plan.mesh, Group::ExpertData), 2);
  const Workload all = prepare(scenario(testing::mixture(), 8, {"ep=8"}));
  EXPECT_EQ(collectives(layer(all).reduce).size(), 1u);  // no expert is held twice
}

// The head shares the table: counted and reduced once; on a stage of its own it holds a copy.
TEST(DataParallel, ATiedTableIsReducedWhereItIsHeld) {
  const Workload one = prepare(scenario(gpt(), 8, {})), two = prepare(scenario(gpt(), 8, {"pp=2"}));
  EXPECT_EQ(one.bodies.back().parameters.dense, 2 * 1024);
  EXPECT_EQ(two.bodies.back().parameters.dense, 2 * 1024 + 51200 * 1024);
  EXPECT_EQ(two.bodies.back().reduce.at(0).bytes.value, 4 * two.bodies.back().parameters.dense);
}

}  // namespace
}  // namespace trainyard
