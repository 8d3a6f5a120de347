// State and traffic of ZeRO, against Rajbhandari et al. 2020.
#include <gtest/gtest.h>

#include <cmath>

#include "core/methods/settings/resharding.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::collectives;
using testing::gpt;
using testing::layer;
using testing::mixture;
using testing::scenario;
using testing::words;
using testing::Words;

std::string stage(int n) { return "zero=" + std::to_string(n); }

StateBytes state_of(std::int64_t parameters, int devices, const testing::Settings& settings) {
  const Workload w = prepare(scenario(gpt(), devices, settings));
  Body body;
  body.parameters.dense = parameters;
  return state_bytes(body, w.layout);
}

std::int64_t total_state(const StateBytes& s) {
  return (s.weights + s.gradients + s.optimizer).value;
}

// 7.5 B parameters on 64 ranks, 16 bytes each: 120, 31.4, 16.6 and 1.9 GB.
TEST(Zero, StateOfThePapersExample) {
  constexpr std::int64_t n = 7'500'000'000, ranks = 64;
  const std::int64_t exact[] = {16 * n, 4 * n + 12 * (n / ranks), 2 * n + 14 * (n / ranks),
                                16 * (n / ranks)};
  const double rounded[] = {120.0, 31.4, 16.6, 1.9};
  for (int i = 0; i < 4; ++i) {
    const std::int64_t found = total_state(state_of(n, ranks, {"precision=fp16", stage(i)}));
    EXPECT_EQ(found, exact[i]) << stage(i);
    EXPECT_EQ(std::round(static_cast<double>(found) / 1e8) / 10, rounded[i]) << stage(i);
  }
}

TEST(Zero, DividesOneKindOfStateAStage) {
  constexpr std::int64_t n = 1 << 20;
  for (int i = 0; i < 4; ++i) {
    const StateBytes s = state_of(n, 16, {"precision=fp16", stage(i)});
    EXPECT_EQ(s.optimizer.value, 12 * n / (i >= 1 ? 16 : 1));
    EXPECT_EQ(s.gradients.value, 2 * n / (i >= 2 ? 16 : 1));
    EXPECT_EQ(s.weights.value, 2 * n / (i >= 3 ? 16 : 1));
  }
}

TEST(Zero, AShardIsRoundedUpToWholeParameters) {
  EXPECT_EQ(total_state(state_of(65, 64, {"precision=fp16", "zero=3"})), 16 * 2);
}

// Megatron's accounting with gradients in 4 bytes: 6 + 12/N.
TEST(Zero, StateWithGradientsInFourBytes) {
  constexpr std::int64_t n = 1 << 20;
  EXPECT_EQ(total_state(state_of(n, 16, {"precision=bf16", "zero=1"})), 6 * n + 12 * n / 16);
}

TEST(Zero, ContextRanksDivideStateToo) {
  constexpr std::int64_t n = 1 << 20;
  EXPECT_EQ(total_state(state_of(n, 16, {"precision=fp16", "zero=3", "cp=4"})), 16 * n / 16);
  EXPECT_EQ(total_state(state_of(n, 16, {"precision=fp16", "zero=3", "tp=4"})), 16 * n / 4);
}

// A head that reads the embedding's table has no state of it. Where ranks divide weights it gathers
// the table, and where they divide gradients it scatters the table's; a stage of its own, under a
// pipeline, has a copy.
TEST(Zero, AHeadGathersTheTableOfTheEmbedding) {
  const auto head = [](const testing::Settings& settings) {
    const Workload w = prepare(scenario(gpt(), 8, settings));
    return w.bodies.back();
  };
  const std::int64_t table = head({"zero=0", "dp=8"}).parameters.shared,
                     own = head({"zero=0", "dp=8"}).parameters.dense;
  ASSERT_GT(table, own);
  const auto bytes = [](const std::vector<BodyOp>& ops, CollectiveKind kind) {
    Bytes sum{};
    for (const BodyOp& op : ops)
      if (op.communication && op.collective == kind) sum += op.bytes;
    return sum.value;
  };
  const Body plain = head({"zero=1", "dp=8", "precision=fp16"}),
             halved = head({"zero=2", "dp=8", "precision=fp16"}),
             full = head({"zero=3", "dp=8", "precision=fp16"}),
             kept = head({"zero=3", "dp=8", "precision=fp16", "reshard-after-forward=off"}),
             piped = head({"zero=3", "pp=2", "precision=fp16"});
  EXPECT_EQ(bytes(plain.reduce, CollectiveKind::ReduceScatter), 2 * own);
  EXPECT_EQ(plain.unreduced.value, 0);
  EXPECT_EQ(bytes(halved.reduce, CollectiveKind::ReduceScatter), 2 * (own + table));
  EXPECT_EQ(halved.unreduced.value, 2 * (own + table));
  EXPECT_EQ(bytes(halved.forward, CollectiveKind::AllGather), 0);
  EXPECT_EQ(bytes(full.forward, CollectiveKind::AllGather), 2 * (own + table));
  EXPECT_EQ(bytes(full.backward, CollectiveKind::AllGather), 2 * (own + table));
  EXPECT_EQ(full.gathered.value, 2 * (own + table));
  EXPECT_EQ(bytes(kept.forward, CollectiveKind::AllGather), 2 * own);  // the embedding's stays
  EXPECT_EQ(piped.parameters.shared, 0);
  EXPECT_EQ(piped.parameters.dense, own + table);
}

TEST(Zero, TheUpdateTouchesItsShareOnly) {
  const Workload w = prepare(scenario(gpt(), 16, {"zero=1"}));
  const Work& work = layer(w).update.at(0).work;
  EXPECT_EQ((work.read + work.written).value,
            share(Bytes{layer(w).parameters.dense}, 16).value * w.layout.optimizer_touched_bytes);
}

Workload half(std::string_view zero, int devices = 16, std::string_view more = "overlap=on") {
  return prepare(scenario(gpt(), devices, {"precision=fp16", zero, more}));
}

// The traffic in multiples of the parameters' bytes; an all-reduce counts as a reduce-scatter and
// an all-gather.
double volumes(const Workload& w) {
  std::int64_t bytes = 0, all = 0;
  for (const Workload::Run& run : w.runs[0]) {
    const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
    for (const auto* ops : {&body.forward, &body.backward, &body.reduce, &body.gather})
      for (const BodyOp& op : *ops)
        if (op.group == Group::Data && op.communication)
          bytes +=
              op.bytes.value * run.count * (op.collective == CollectiveKind::AllReduce ? 2 : 1);
    all += body.parameters.dense * run.count;
  }
  return static_cast<double>(bytes) / static_cast<double>(2 * all);
}

// The share of the parameters that a layer reads which is another's: the table of the embedding,
// which travels once more for the head.
double shared_share(const Workload& w) {
  std::int64_t shared = 0, all = 0;
  for (const Workload::Run& run : w.runs[0]) {
    const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
    shared += body.parameters.shared * run.count;
    all += body.parameters.dense * run.count;
  }
  return static_cast<double>(shared) / static_cast<double>(all);
}

TEST(Zero, TrafficOfAStep) {
  const double table = shared_share(half("zero=0"));
  EXPECT_GT(table, 0);
  EXPECT_EQ(volumes(half("zero=0")), 2);
  EXPECT_EQ(volumes(half("zero=1")), 2);
  EXPECT_DOUBLE_EQ(volumes(half("zero=2")), 2 + table);
  EXPECT_DOUBLE_EQ(volumes(half("zero=3")), 3 * (1 + table));
}

TEST(Zero, StagesOneAndTwoScatterGradientsAndGatherWeights) {
  for (const char* zero : {"zero=1", "zero=2"}) {
    const Workload w = half(zero);
    const std::int64_t bytes = 2 * layer(w).parameters.dense;
    EXPECT_EQ(collectives(layer(w).reduce),
              (Words{words(CollectiveKind::ReduceScatter, Group::Data, bytes)}));
    EXPECT_EQ(collectives(layer(w).gather),
              (Words{words(CollectiveKind::AllGather, Group::Data, bytes)}));
    EXPECT_TRUE(collectives(layer(w).forward).empty());
    EXPECT_EQ(layer(w).gathered, Bytes{});
  }
  EXPECT_FALSE(half("zero=1").layout.reduce_every_microbatch);
  EXPECT_TRUE(half("zero=2").layout.reduce_every_microbatch);
  EXPECT_EQ(layer(half("zero=1")).unreduced, Bytes{});
  EXPECT_EQ(layer(half("zero=2")).unreduced.value, 2 * layer(half("zero=2")).parameters.dense);
}

TEST(Zero, StageThreeGathersALayerBeforeForwardAndBackward) {
  const Workload w = half("zero=3");
  const std::int64_t bytes = 2 * layer(w).parameters.dense;
  const std::string gather = words(CollectiveKind::AllGather, Group::Data, bytes);
  EXPECT_EQ(collectives(layer(w).forward), Words{gather});
  EXPECT_EQ(collectives(layer(w).backward), Words{gather});
  EXPECT_TRUE(layer(w).forward.front().communication);
  EXPECT_TRUE(layer(w).backward.front().communication);
  EXPECT_EQ(collectives(layer(w).reduce),
            (Words{words(CollectiveKind::ReduceScatter, Group::Data, bytes)}));
  EXPECT_TRUE(layer(w).gather.empty());
  EXPECT_EQ(layer(w).gathered.value, bytes);
  EXPECT_EQ(layer(w).unreduced.value, bytes);
}

Bytes resident(const Workload& w) { return w.kinds.at(0).state.total.gathered; }

// With one stage, weights are gathered with every forward and never with backward: two volumes, and
// one gather less.
TEST(Zero, WithoutReshardingBackwardFindsItsWeights) {
  const Workload w = half("zero=3", 16, "reshard-after-forward=off");
  const std::int64_t bytes = 2 * layer(w).parameters.dense;
  EXPECT_EQ(collectives(layer(w).forward),
            Words{words(CollectiveKind::AllGather, Group::Data, bytes)});
  EXPECT_TRUE(collectives(layer(w).backward).empty());
  EXPECT_TRUE(layer(w).gather.empty());
  EXPECT_DOUBLE_EQ(volumes(w), 2 + shared_share(w));
  EXPECT_EQ(layer(w).gathered, Bytes{});
  EXPECT_EQ(layer(w).resident.value, bytes);
  // All layers in full at once, beside the shards.
  std::int64_t parameters = 0;
  for (const Workload::Run& run : w.runs.at(0))
    parameters += w.bodies[static_cast<std::size_t>(run.body)].parameters.dense * run.count;
  EXPECT_EQ(resident(w).value, 2 * parameters);
  EXPECT_EQ(w.kinds[0].state.total.weights, half("zero=3").kinds[0].state.total.weights);
  EXPECT_EQ(resident(half("zero=3")), Bytes{});
}

// Microbatches are always under way: the weights stay until the step has ended.
TEST(Zero, WithoutReshardingAPipelineGathersOnceAStep) {
  const Workload w = prepare(
      scenario(gpt(), 16, {"zero=3", "pp=2", "global-batch=32", "reshard-after-forward=off"}));
  EXPECT_TRUE(collectives(layer(w).forward).empty());
  EXPECT_TRUE(collectives(layer(w).backward).empty());
  EXPECT_EQ(collectives(layer(w).gather),
            Words{words(CollectiveKind::AllGather, Group::Data, 2 * layer(w).parameters.dense)});
  EXPECT_TRUE(w.layout.reduce_every_microbatch);
}

// PyTorch's FSDP adds gradients up in full under a pipeline; each can be said.
TEST(Zero, GradientsAreAddedUpWhereTheFrameworkDoes) {
  struct Case {
    const char *zero, *framework, *more;
    bool every, keeps;
  };
  const Case kCases[] = {
      {"zero=3", "torchtitan", "pp=2", false, true},
      {"zero=3", "fsdp", "pp=2", false, true},
      {"zero=3", "fsdp", "zero-reduce=microbatch", true, true},
      {"zero=3", "fsdp", "reshard-after-forward=on", false, false},
      {"zero=3", "megatron-core", "pp=2", true, false},
      {"zero=3", "typical", "zero-reduce=step", false, false},
      {"zero=2", "torchtitan", "pp=2", false, false},
      {"zero=2", "typical", "zero-reduce=step", false, false},
      {"zero=2", "typical", "pp=2", true, false},
  };
  for (const Case& c : kCases) {
    const std::string name = std::string(c.zero) + " " + c.framework + " " + c.more;
    Scenario s = scenario(gpt(), 16, {"precision=fp16", c.zero, "pp=2", "global-batch=32", c.more});
    s.plan.software.framework = c.framework;
    const Workload w = prepare(s);
    EXPECT_EQ(w.layout.reduce_every_microbatch, c.every) << name;
    EXPECT_EQ(layer(w).resident.value > 0, c.keeps) << name;
    // In full for the step; or in full for a layer on its way, and divided for the step.
    const std::int64_t n = layer(w).parameters.dense;
    EXPECT_EQ(layer(w).unreduced.value, c.every ? 2 * n : 0) << name;
    EXPECT_EQ(w.layout.gradient_shards, c.every ? 8 : 1) << name;
    // Traffic of the group with a microbatch, and with a step.
    const bool gathers = c.zero == std::string_view("zero=3") && !c.keeps;
    EXPECT_EQ(collectives(layer(w).forward).size(), gathers ? 1u : 0u) << name;
    EXPECT_EQ(collectives(layer(w).backward).size(), gathers ? 1u : 0u) << name;
    EXPECT_EQ(collectives(layer(w).gather).size(), gathers ? 0u : 1u) << name;
  }
  // With one stage, FSDP reshards and reduces with every microbatch.
  const Workload alone =
      prepare(scenario(gpt(), 16, {"zero=3", "framework=fsdp", "global-batch=32"}));
  EXPECT_TRUE(alone.layout.reduce_every_microbatch);
  EXPECT_EQ(layer(alone).resident, Bytes{});
}

// A plan that is written out with its defaults states no more than before, so that it means the
// same beside another framework.
TEST(Zero, ACompletePlanLeavesReshardingToTheFramework) {
  Scenario s = scenario(gpt(), 16, {"zero=3", "pp=2", "global-batch=32"});
  s.plan = complete(s);
  EXPECT_EQ(setting(s.plan, "reshard-after-forward"), "framework");
  EXPECT_TRUE(reshards_after_forward(s.plan));
  apply_setting(s.plan, "framework=torchtitan");
  EXPECT_FALSE(reshards_after_forward(s.plan));
  EXPECT_GT(layer(prepare(s)).resident, Bytes{});
  apply_setting(s.plan, "reshard-after-forward=on");
  EXPECT_TRUE(reshards_after_forward(s.plan));
  EXPECT_EQ(layer(prepare(s)).resident, Bytes{});
}

TEST(Zero, WarnsOfReducingWhatIsNotDivided) {
  const Diagnostics found =
      check_of("zero", scenario(gpt(), 8, {"zero=1", "zero-reduce=microbatch"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "zero-reduce=microbatch is for gradients that zero=2 and zero=3 divide, and zero=1 "
            "divides none: nothing changes");
}

TEST(Zero, OthersSpellingsOfResharding) {
  Plan plan;
  for (const auto& [text, kept] : {std::pair{"reshard_after_forward=false", "off"},
                                   {"fsdp_reshard_after_forward=always", "on"},
                                   {"reshard=never", "off"},
                                   {"reshard=default", "on"}}) {
    apply_setting(plan, text);
    EXPECT_EQ(setting(plan, "reshard-after-forward"), kept) << text;
  }
  plan.mesh.pp = 4;
  apply_setting(plan, "reshard=default");
  EXPECT_EQ(setting(plan, "reshard-after-forward"), "off");
}

TEST(Zero, WarnsOfReshardingWhereNothingIsGathered) {
  const Diagnostics found = check_of("zero", scenario(gpt(), 8, {"zero=1", "reshard=off"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "reshard-after-forward=off keeps the weights that zero=3 gathers, and zero=1 divides "
            "none: nothing changes");
}

// One gather serves the repeated forward and the backward after it.
TEST(Zero, RecomputationSharesTheGatherOfBackward) {
  const Workload w = half("zero=3", 16, "recompute=full");
  EXPECT_EQ(collectives(layer(w).backward).size(), 1u);
  EXPECT_TRUE(layer(w).backward.front().communication);
}

// Within a node of 8 state is divided; between the two nodes shards of gradients are reduced.
TEST(Zero, HybridShardsInsideAGroupAndReducesBetween) {
  const Workload w = half("zero=hybrid=8");
  const std::int64_t n = layer(w).parameters.dense;
  EXPECT_EQ(w.shard, 8);
  EXPECT_EQ(
      collectives(layer(w).reduce),
      (Words{words(CollectiveKind::ReduceScatter, Group::Shard, 2 * n),
             words(CollectiveKind::AllReduce, Group::Replica, share(Bytes{2 * n}, 8).value)}));
  EXPECT_EQ(collectives(layer(w).forward),
            Words{words(CollectiveKind::AllGather, Group::Shard, 2 * n)});
  EXPECT_EQ(state_bytes(layer(w), w.layout).optimizer.value, 12 * share(Bytes{n}, 8).value);
  const GroupShape shape =
      group_shape(w.scenario.plan.mesh, Group::Shard, w.scenario.cluster, w.shard);
  EXPECT_EQ(shape.ranks, 8);
  EXPECT_EQ(shape.per_node, 8);
}

TEST(Zero, AShardGroupOfAllIsNoHybrid) {
  const Workload w = half("zero=hybrid=16");
  EXPECT_EQ(layer(w).reduce.at(0).group, Group::Data);
  EXPECT_EQ(layer(w).reduce.size(), 1u);
}

TEST(Zero, ExpertsDivideOverTheirOwnReplicas) {
  const Workload w = prepare(scenario(mixture(), 16, {"precision=fp16", "ep=4", "zero=3"}));
  const LocalParameters& p = layer(w).parameters;
  const StateBytes state = state_bytes(layer(w), w.layout);
  EXPECT_EQ(state.weights.value,
            2 * (share(Bytes{p.dense}, 16).value + share(Bytes{p.expert}, 4).value));
  EXPECT_EQ(collectives(layer(w).reduce),
            (Words{words(CollectiveKind::ReduceScatter, Group::Data, 2 * p.dense),
                   words(CollectiveKind::ReduceScatter, Group::ExpertData, 2 * p.expert)}));
  EXPECT_EQ(layer(w).gathered.value, 2 * (p.dense + p.expert));
}

// Experts held by one rank each are held whole: nothing to scatter, nothing to gather.
TEST(Zero, ExpertsWithoutReplicasAreNotDivided) {
  const Workload w = prepare(scenario(mixture(), 8, {"precision=fp16", "ep=8", "zero=3"}));
  const LocalParameters& p = layer(w).parameters;
  EXPECT_EQ(state_bytes(layer(w), w.layout).weights.value,
            2 * (share(Bytes{p.dense}, 8).value + p.expert));
  EXPECT_EQ(layer(w).gathered.value, 2 * p.dense);
}

TEST(Zero, BodiesWithoutParametersStayAsTheyAre) {
  const Workload w = half("zero=3");
  Body body;
  body.block = 1;
  zero().rewrite(body, w.layout, w.scenario, find_choice(w.scenario.plan, "zero")->params);
  EXPECT_TRUE(body.forward.empty());
  EXPECT_TRUE(body.reduce.empty());
  EXPECT_EQ(body.gathered, Bytes{});
}

TEST(Zero, ShardGroupDividesTheReplicas) {
  const Diagnostics found = check_of("zero", scenario(gpt(), 64, {"zero=hybrid=24"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "hybrid=24 does not divide the 64 data-parallel ranks (dp x cp)");
  EXPECT_EQ(found[0].place.text, "plan#/choices/zero/shard");
  EXPECT_EQ(found[0].fix, "hybrid=16");
  EXPECT_EQ(check_of("zero", scenario(gpt(), 8, {"zero=hybrid=16"})).at(0).fix, "hybrid=8");
}

TEST(Zero, WarnsWhenThereIsOneReplica) {
  const Diagnostics found = check_of("zero", scenario(gpt(), 8, {"zero=1", "tp=8"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Diagnostic::Severity::Warning);
  EXPECT_EQ(found[0].message,
            "zero=1 divides state over data-parallel ranks, and there is one: nothing is saved");
  EXPECT_EQ(found[0].fix, "zero=0");
}

TEST(Zero, WarnsOfStageTwoUnderAPipeline) {
  const Diagnostics found =
      check_of("zero", scenario(gpt(), 8, {"zero=2", "pp=2", "global-batch=32"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "zero=2 under a pipeline reduces gradients with every microbatch: 8 times the traffic "
            "of zero=1");
  EXPECT_EQ(found[0].fix, "zero=1");
}

}  // namespace
}  // namespace trainyard
