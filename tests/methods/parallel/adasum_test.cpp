// Tests the messages, work and memory of Adasum, and what it is refused beside.
#include "core/methods/parallel/adasum.h"

#include <gtest/gtest.h>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/memory/process_bytes.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::collectives;
using testing::gpt;
using testing::layer;
using testing::scenario;
using testing::Settings;
using testing::words;
using testing::Words;

std::string first_finding(std::int64_t devices, Settings settings,
                          std::string_view kind = "a100-sxm-80") {
  const Diagnostics found = check_of("adasum", scenario(gpt(), devices, settings, kind));
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

TEST(AdasumOfAPlan, ExchangesHalvesAndThreeSumsATensorAndLevel) {
  const Workload w = prepare(scenario(gpt(), 8, {"reduce=adasum"}));
  const Body& body = layer(w);
  const std::int64_t n = body.parameters.dense, tensors = 12;  // of a layer of GPT-2
  const std::string sums = words(CollectiveKind::AllReduce, Group::Data, tensors * 3 * 8);
  EXPECT_TRUE(body.reduce.empty());
  EXPECT_EQ(collectives(body.gather),
            (Words{words(CollectiveKind::ReduceScatter, Group::Data, 4 * n), sums, sums, sums,
                   words(CollectiveKind::AllGather, Group::Data, 4 * n)}));
  for (const BodyOp& op : body.gather) EXPECT_FALSE(op.overlapped);
}

TEST(AdasumOfAPlan, GathersWholeVectorsForTheTree) {
  const Workload w = prepare(scenario(gpt(), 8, {"reduce=adasum-tree"}));
  EXPECT_EQ(
      collectives(layer(w).gather),
      (Words{words(CollectiveKind::AllGather, Group::Data, 8 * 4 * layer(w).parameters.dense)}));
}

// 32 devices are 4 nodes of 8: of 5 levels of the tree, Adasum combines 2.
TEST(AdasumOfAPlan, TakesTheMeanInsideNodes) {
  const Workload w = prepare(scenario(gpt(), 32, {"reduce=adasum-hierarchical"}));
  EXPECT_EQ(mean_ranks(w.scenario.plan, w.scenario.cluster), 8);
  EXPECT_EQ(collectives(layer(w).gather).size(), 2u + 2u);
}

// Adasum adds, beside the copy of the weights from before the update, no state.
TEST(AdasumOfAPlan, KeepsFourBytesAParameter) {
  for (const char* optimizer : {"optimizer=sgd", "optimizer=adamw"}) {
    const Workload mean = prepare(scenario(gpt(), 8, {optimizer})),
                   adasum = prepare(scenario(gpt(), 8, {optimizer, "reduce=adasum"}));
    EXPECT_EQ((state_bytes(layer(adasum), adasum.layout).optimizer -
               state_bytes(layer(mean), mean.layout).optimizer)
                  .value,
              4 * layer(mean).parameters.dense);
  }
}

// Half a vector of the largest layer arrives, or the tree's vectors of all ranks.
TEST(AdasumOfAPlan, HoldsWhatArrivesOfOtherRanks) {
  const auto held = [](const char* reduce) {
    return process_bytes(prepare(scenario(gpt(), 8, {reduce})), {}).front().value;
  };
  std::int64_t largest = 0;
  for (const Body& body : prepare(scenario(gpt(), 8, {})).bodies)
    largest = std::max(largest, body.parameters.dense);
  EXPECT_EQ(held("reduce=mean"), held("reduce=sum"));
  EXPECT_EQ(held("reduce=adasum") - held("reduce=mean"), 2 * largest);
  EXPECT_EQ(held("reduce=adasum-tree") - held("reduce=mean"), 8 * 4 * largest);
}

// With halves, 5 passes over n for copy and change read and write each, n (P - 1) / P elements are
// combined, and as many multiplied.
TEST(AdasumOfAPlan, CountsItsPassesAsWorkOfTheUpdate) {
  const Workload w = prepare(scenario(gpt(), 8, {"reduce=adasum", "precision=fp32"}));
  const std::int64_t n = layer(w).parameters.dense, combined = n - n / 8;
  ASSERT_EQ(layer(w).update.size(), 2u);
  EXPECT_EQ(layer(w).update[1].work.read.value, 20 * n + 16 * combined);
  EXPECT_EQ(layer(w).update[1].work.written.value, 20 * n + 4 * combined);
}

TEST(AdasumOfAPlan, SumChangesNoMessageAndNoMemory) {
  const Workload mean = prepare(scenario(gpt(), 8, {"pp=2"})),
                 sum = prepare(scenario(gpt(), 8, {"pp=2", "reduce=sum"}));
  EXPECT_EQ(digest(lower(mean, {})), digest(lower(sum, {})));
}

// A step is priced alike by the closed form and by the simulator's program: the same messages
// follow the update.
TEST(AdasumOfAPlan, MakesAStepLongerByItsMessagesAndPasses) {
  const auto step = [](const char* reduce) {
    const Workload w = prepare(scenario(gpt(), 8, {reduce, "overlap=off"}));
    return estimate_step(w, *physical_cost_model(w.scenario)).step;
  };
  const Duration sum = step("reduce=sum"), adasum = step("reduce=adasum"),
                 tree = step("reduce=adasum-tree");
  EXPECT_GT(adasum, sum);
  EXPECT_GT(tree, adasum);
}

TEST(AdasumOfAPlan, IsReadAndTakenBack) {
  Plan plan;
  EXPECT_EQ(setting(plan, "reduce"), "mean");
  apply_setting(plan, "reduce=adasum-tree");
  EXPECT_EQ(setting(plan, "adasum.reduce"), "adasum-tree");
  apply_setting(plan, "reduce=mean");
  EXPECT_EQ(plan, Plan{});
}

TEST(AdasumOfAPlan, Refusals) {
  EXPECT_EQ(first_finding(8, {"reduce=adasum"}), "");
  EXPECT_EQ(first_finding(8, {"reduce=sum", "tp=2", "zero=3"}), "");
  EXPECT_EQ(first_finding(1, {"reduce=adasum"}),
            "adasum combines what replicas found, and there is one: nothing changes -> "
            "reduce=mean");
  EXPECT_EQ(first_finding(24, {"reduce=adasum-tree"}),
            "adasum-tree combines ranks in pairs, so that their number is a power of two, found "
            "dp=24; the nearest are 16 and 32 -> reduce=mean");
  EXPECT_EQ(first_finding(8, {"reduce=adasum", "tp=2"}),
            "adasum needs products over whole tensors of each replica, and tensor ranks have parts "
            "of the tensors, found tp=2; reduce=sum and reduce=mean go with them -> tp=1");
  EXPECT_EQ(first_finding(8, {"reduce=adasum", "zero=1"}),
            "adasum combines the steps of replicas that each have their own optimizer state, and "
            "zero=1 has each update only its share of the weights, by gradients that are combined "
            "already: no replica has a step of its own -> zero=0");
  // Plain descent has no state to divide, and no share of it either.
  EXPECT_EQ(first_finding(8, {"reduce=adasum", "zero=1", "optimizer=sgd"}),
            first_finding(8, {"reduce=adasum", "zero=1"}));
  EXPECT_EQ(first_finding(8, {"reduce=adasum", "offload=optimizer"}),
            "adasum compares weights before and after an update on the device, and "
            "offload=optimizer has the host update them -> offload=none");
  EXPECT_EQ(first_finding(8, {"reduce=adasum", "pp=2", "schedule=pipedream"}),
            "adasum combines the updates of one step of all replicas, and pipedream updates while "
            "microbatches are under way -> schedule=1f1b");
  EXPECT_EQ(first_finding(8, {"reduce=adasum", "precision=bf16-kahan"}),
            "adasum takes differences of weights in 4 bytes, and bf16-kahan keeps weights in bf16 "
            "alone -> precision=bf16");
  EXPECT_EQ(first_finding(8, {"reduce=adasum", "precision=fp8", "fp8.weights=fp8"}, "h100-sxm"),
            "adasum writes weights again after it has combined updates, and fp8.weights=fp8 has "
            "agreed on their scales before -> fp8.weights=bf16");
  EXPECT_EQ(first_finding(8, {"reduce=adasum-hierarchical"}),
            "adasum-hierarchical takes the mean inside a node, and one node has all 8 replicas: no "
            "update is combined by Adasum -> reduce=adasum");
}

}  // namespace
}  // namespace trainyard
