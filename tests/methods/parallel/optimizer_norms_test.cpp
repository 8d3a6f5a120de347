// Tests what norms of LARS and LAMB cost, replicated and shared, and what shared norms are refused
// beside.
#include "core/methods/parallel/optimizer_norms.h"

#include <gtest/gtest.h>

#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/lowering/phases.h"
#include "core/methods/parallel/whole_replicas.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::layer;
using testing::scenario;
using testing::Settings;

std::string norms_finding(std::int64_t devices, Settings settings) {
  settings.push_back("optimizer-norms=shared");
  const Diagnostics found = check_of("optimizer-norms", scenario(gpt(), devices, settings));
  return found.empty() ? "" : found.front().message + " -> " + found.front().fix;
}

std::int64_t norm_bytes(const Workload& w) {
  for (const BodyOp& op : layer(w).update)
    if (op.name == "norms") return op.work.read.value;
  return 0;
}

TEST(OptimizerNorms, ReadWhatTheUpdateReadsAgain) {
  for (const char* plain : {"optimizer=adamw", "optimizer=momentum"})
    EXPECT_EQ(norm_bytes(prepare(scenario(gpt(), 8, Settings{plain}))), 0);
  const Workload lars = prepare(scenario(gpt(), 8, Settings{"optimizer=lars", "precision=fp32"})),
                 lamb = prepare(scenario(gpt(), 8, Settings{"optimizer=lamb", "precision=fp32"}));
  const std::int64_t n = layer(lars).parameters.dense;
  EXPECT_EQ(norm_bytes(lars), n * (4 + 4));  // weights and gradient
  EXPECT_EQ(norm_bytes(lamb), n * (4 + 8));  // weights and two moments
}

TEST(OptimizerNorms, SharedTheyAreDividedByLayers) {
  for (const std::int64_t replicas : {2, 5, 8}) {
    Settings words{"optimizer=lars"};
    const Workload all = prepare(scenario(gpt(), replicas, words));
    words.push_back("optimizer-norms=shared");
    const Workload shared = prepare(scenario(gpt(), replicas, words));
    const std::int64_t layers = layer_count(all.scenario.model);
    EXPECT_EQ(norm_bytes(shared), norm_bytes(all) * ((layers + replicas - 1) / replicas) / layers);
  }
}

// T = T(norms) ceil(L/P)/L + one all-gather of 16 bytes a tensor, for each stage.
TEST(OptimizerNorms, OneGatherAStageFollowsTheUpdate) {
  for (const char* pipeline : {"pp=1", "pp=2"}) {
    Settings words{"optimizer=lamb", pipeline};
    const Workload all = prepare(scenario(gpt(), 8, words));
    words.push_back("optimizer-norms=shared");
    const Workload shared = prepare(scenario(gpt(), 8, words));
    const int stages = all.scenario.plan.mesh.pp;
    for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(stages); ++s) {
      EXPECT_TRUE(stage_work(all, StageId{s}).gather.last.empty());
      const std::vector<CollectiveRun>& gather = stage_work(shared, StageId{s}).gather.last;
      ASSERT_EQ(gather.size(), 1u);
      EXPECT_EQ(gather[0].kind, CollectiveKind::AllGather);
      EXPECT_EQ(gather[0].group, Group::Data);
      EXPECT_EQ(gather[0].repeats, 1);
      std::int64_t tensors = 0;
      for (const Workload::Run& run : shared.runs[s])
        tensors += run.count * trained_tensors(shared.bodies[static_cast<std::size_t>(run.body)],
                                               shared.scenario.model, shared.layout);
      EXPECT_EQ(gather[0].bytes.value, 16 * tensors);
      EXPECT_TRUE(stage_work(shared, StageId{s}).gather.others.empty());
    }
  }
}

TEST(OptimizerNorms, AreSharedByWholeReplicasOnly) {
  EXPECT_EQ(norms_finding(8, Settings{"optimizer=lars"}), "");
  EXPECT_EQ(norms_finding(8, Settings{"optimizer=adamw"}),
            "sharing norms is for lars and lamb, which need some, and adamw needs none "
            "-> optimizer-norms=replicated");
  EXPECT_EQ(norms_finding(8, Settings{"optimizer=lars", "tp=2"}),
            "sharing norms has each replica find norms of whole tensors, and tensor ranks "
            "have parts of the tensors, found tp=2; optimizer-norms=replicated goes with them -> "
            "tp=1");
  EXPECT_EQ(norms_finding(8, Settings{"optimizer=lamb", "zero=1"}),
            "sharing norms divides the norms of a state that every replica holds whole, "
            "and zero=1 leaves each a part of one -> zero=0");
  EXPECT_EQ(norms_finding(8, Settings{"optimizer=lamb", "offload=optimizer"}),
            "sharing norms finds norms on the device, and offload=optimizer has the host "
            "find them -> offload=none");
  EXPECT_EQ(norms_finding(8, Settings{"optimizer=lamb", "reduce=adasum"}),
            "sharing norms divides norms that are equal on all replicas, and replicas "
            "that combine their updates have gradients of their own -> reduce=mean");
  EXPECT_EQ(norms_finding(8, Settings{"optimizer=lars", "compression=topk"}),
            "sharing norms divides norms of gradients that are whole on all replicas, and "
            "compression leaves parts for later steps -> compression=none");
  EXPECT_EQ(norms_finding(8, Settings{"optimizer=lars", "pp=2", "schedule=pipedream"}),
            "sharing norms needs all replicas at one update, and pipedream updates while "
            "microbatches are under way -> schedule=1f1b");
  EXPECT_EQ(norms_finding(1, Settings{"optimizer=lars"}),
            "sharing norms divides norms over replicas, and there is one: nothing changes "
            "-> optimizer-norms=replicated");
}

}  // namespace
}  // namespace trainyard
