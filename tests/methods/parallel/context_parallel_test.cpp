#include <gtest/gtest.h>

#include "core/model/zoo/zoo.h"
#include "core/plan/mesh.h"
#include "core/plan/mesh_axes.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

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

std::string turn(std::int64_t bytes) {
  return testing::words(CollectiveKind::AllToAll, Group::ContextHeads, bytes);
}
std::string inner_ring(CollectiveKind kind, std::int64_t bytes) {
  return testing::words(kind, Group::ContextRing, bytes);
}

// Queries, keys, values and output of a rank's own tokens, 2sbh / cp bytes each.
TEST(ContextParallel, UlyssesTurnsWhatARankHas) {
  const std::int64_t own = 2 * kTokens * 1024 / 4;
  const Workload w =
      prepare(scenario(gpt(), 4, {"cp=4", "context-parallel.kind=ulysses", "micro-batch=2"}));
  const Words four(4, turn(own));
  EXPECT_EQ(collectives(layer(w).forward), four);
  EXPECT_EQ(collectives(layer(w).backward), four);
  EXPECT_EQ(ranks(w.scenario.plan.mesh, Group::ContextHeads), 4);
  for (const BodyOp& op : layer(w).forward) EXPECT_FALSE(op.overlapped) << op.name;
}

TEST(ContextParallel, HybridPassesRoundARingWhatNeighboursHaveTurned) {
  const std::int64_t own = 2 * kTokens * 1024 / 8, passed = 2 * own * 4;
  const Workload w = prepare(scenario(
      gpt(), 8,
      {"cp=8", "context-parallel.kind=hybrid", "context-parallel.ulysses=2", "micro-batch=2"}));
  const std::string gather = inner_ring(CollectiveKind::AllGather, passed);
  EXPECT_EQ(collectives(layer(w).forward),
            (Words{turn(own), turn(own), turn(own), gather, turn(own)}));
  const std::string scatter = inner_ring(CollectiveKind::ReduceScatter, passed);
  EXPECT_EQ(collectives(layer(w).backward),
            (Words{turn(own), gather, scatter, turn(own), turn(own), turn(own)}));
  const Mesh& mesh = w.scenario.plan.mesh;
  EXPECT_EQ(ranks(mesh, Group::ContextHeads), 2);
  EXPECT_EQ(ranks(mesh, Group::ContextRing), 4);
  EXPECT_EQ(group_axes(mesh, Group::ContextHeads), (MeshAxes{{2, 1}}));
  EXPECT_EQ(group_axes(mesh, Group::ContextRing), (MeshAxes{{4, 2}}));
}

// The bytes of a microbatch's forward that a rank has of the tensors of one attention.
struct ContextBytes {
  std::int64_t turned = 0, passed = 0;
  friend bool operator==(const ContextBytes&, const ContextBytes&) = default;
};
ContextBytes bytes_forward(const Workload& w) {
  ContextBytes sum;
  for (const BodyOp& op : layer(w).forward)
    if (op.communication && is_context(op.group))
      (op.collective == CollectiveKind::AllToAll ? sum.turned : sum.passed) += op.bytes.value;
  return sum;
}

// With a heads of which kv have keys: turned are (2 a + 2 kv) / cp of each token's heads, and each
// rank of a ring passes the keys and values of all in it, 2 kv / ulysses.
TEST(ContextParallel, EveryKindMovesItsFormula) {
  const std::int64_t head = 32, heads = 16, kv = 4;
  for (const int cp : {2, 4, 8, 16})
    for (const int ulysses : {1, 2, 4}) {
      if (cp % ulysses != 0) continue;
      for (const int tp : {1, 2}) {
        if (kv / tp % ulysses != 0) continue;
        const std::string degree = "cp=" + std::to_string(cp), tensor = "tp=" + std::to_string(tp),
                          kind = std::string("context-parallel.kind=") +
                                 (ulysses == 1 ? "ring" : "hybrid"),
                          stated = "context-parallel.ulysses=" + std::to_string(ulysses);
        SCOPED_TRACE(degree + " " + tensor + " " + stated);
        const Workload w = prepare(scenario(testing::mixture(), std::int64_t{cp} * tp,
                                            {degree, tensor, kind, stated, "micro-batch=2"}));
        const std::int64_t token = 2 * kTokens * head / tp, ring = cp / ulysses;
        EXPECT_EQ(bytes_forward(w),
                  (ContextBytes{ulysses == 1 ? 0 : token * (2 * heads + 2 * kv) / cp,
                                ring == 1 ? 0 : token * 2 * kv / ulysses}));
      }
    }
}

// All ranks attend to as many pairs of tokens, whatever they exchange. What they keep of them is as
// much too, beside the kernel's own output.
TEST(ContextParallel, EveryKindDoesTheSameWork) {
  const auto made = [](const char* kind) {
    return prepare(scenario(gpt(), 8, {"cp=8", kind, "micro-batch=2"}));
  };
  const auto attends = [](const Workload& w) {
    Flops sum{};
    for (const BodyOp& op : layer(w).forward)
      if (op.work.kind == WorkKind::Attention) sum += op.work.flops;
    return sum.value;
  };
  const Workload ring = made("context-parallel.kind=ring");
  for (const char* kind : {"context-parallel.kind=ulysses", "context-parallel.kind=hybrid"}) {
    const Workload other = made(kind);
    EXPECT_EQ(attends(other), attends(ring)) << kind;
    EXPECT_EQ(saved_bytes(layer(other)).value,
              saved_bytes(layer(ring)).value + 2 * kTokens * 1024 / 8)
        << kind;
  }
}

// What is kept stays turned; what is made again is turned again.
TEST(ContextParallel, TurnsAgainWhatIsMadeAgain) {
  const auto again = [](const char* policy, const char* flash = "flash-attention=on") {
    const Workload w =
        prepare(scenario(gpt(), 4, {"cp=4", "context-parallel.kind=ulysses", flash, policy}));
    int count = 0;
    for (const BodyOp& op : layer(w).backward)
      count += op.recomputed && op.collective == CollectiveKind::AllToAll && op.communication;
    return count;
  };
  EXPECT_EQ(again("recompute=selective", "flash-attention=off"), 0);
  EXPECT_EQ(again("recompute=op"), 3);
  EXPECT_EQ(again("recompute=full"), 4);
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

TEST(ContextParallel, RefusesHeadsThatRanksDoNotDivide) {
  struct Case {
    testing::Settings settings;
    const char *message, *fix;
  };
  const Case cases[] = {
      {{"cp=8", "context-parallel.kind=ulysses"},
       "8 ranks exchange heads for tokens, and must divide those of queries and of keys that a "
       "tensor rank has, found 4",
       "context-parallel.kind=hybrid"},
      {{"cp=8", "context-parallel.kind=hybrid", "context-parallel.ulysses=8"},
       "8 ranks exchange heads for tokens, and must divide those of queries and of keys that a "
       "tensor rank has, found 4",
       "context-parallel.ulysses=4"},
      {{"cp=2", "tp=4", "context-parallel.kind=ulysses"},
       "2 ranks exchange heads for tokens, and must divide those of queries and of keys that a "
       "tensor rank has, found 1",
       "context-parallel.kind=ring"},
      {{"cp=8", "context-parallel.kind=hybrid", "context-parallel.ulysses=3"},
       "ulysses=3 does not divide cp=8",
       "context-parallel.ulysses=1"},
      {{"cp=8", "context-parallel.ulysses=2"},
       "ulysses=2 is a part of cp=8, which only kind=hybrid has, found kind=ring",
       "context-parallel.kind=hybrid"},
  };
  for (const Case& c : cases) {
    const Diagnostics found =
        check_of("context-parallel", scenario(testing::mixture(), 8, c.settings));
    ASSERT_EQ(found.size(), 1u) << c.message;
    EXPECT_EQ(found[0].message, c.message);
    EXPECT_EQ(found[0].fix, c.fix);
    testing::Settings fixed = c.settings;
    fixed.emplace_back(found[0].fix);
    EXPECT_TRUE(check_of("context-parallel", scenario(testing::mixture(), 8, fixed)).empty())
        << c.message;
  }
  EXPECT_TRUE(check_of("context-parallel",
                       scenario(testing::mixture(), 8, {"cp=8", "context-parallel.kind=hybrid"}))
                  .empty());
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

// Four heads of width 8, a state of 6 and `groups`, over 64 tokens.
Model state_spaces(std::int64_t groups) {
  TransformerSpec spec = family_spec("mamba2");
  spec.name = "state spaces";
  spec.layers = 2, spec.hidden = 16, spec.heads = 4, spec.ffn = 4, spec.vocab = 8;
  spec.sequence = 64;
  spec.state_space = {.heads = 4, .width = 8, .state = 6, .groups = groups};
  return build_decoder(spec);
}

std::string exchange(std::int64_t bytes) {
  return testing::words(CollectiveKind::AllToAll, Group::Context, bytes);
}

// 2 bytes of each of a rank's 2 x 64 / cp tokens: 32 channels in and out, a step for each of 4
// heads, and B and C of each group, with as many copies as ranks of one group.
TEST(ContextParallel, RecurrencesExchangeHeadsForTokens) {
  const std::int64_t copies_of_cp[][3] = {{2, 1, 2}, {2, 2, 1}, {4, 2, 2}, {4, 4, 1}};
  for (const auto& [cp, groups, copies] : copies_of_cp) {
    SCOPED_TRACE("cp=" + std::to_string(cp) + " groups=" + std::to_string(groups));
    const std::string degree = "cp=" + std::to_string(cp);
    const Workload w = prepare(scenario(state_spaces(groups), cp, {degree, "micro-batch=2"})),
                   whole = prepare(scenario(state_spaces(groups), 1, {"micro-batch=2"}));
    const std::int64_t tokens = 2 * 64 / cp, channels = 2 * tokens * 32, steps = 2 * tokens * 4,
                       group = 2 * tokens * groups * 6 * copies;
    EXPECT_EQ(collectives(layer(w).forward),
              (Words{exchange(channels), exchange(group), exchange(group), exchange(steps),
                     exchange(channels)}));
    EXPECT_EQ(collectives(layer(w).backward),
              (Words{exchange(channels), exchange(steps), exchange(group), exchange(group),
                     exchange(channels)}));
    // B and C are kept twice, before their convolutions and after them.
    const std::int64_t of_groups = 4 * 2 * 2 * 64 * groups * 6;
    EXPECT_EQ(saved_bytes(layer(w)).value * cp,
              saved_bytes(layer(whole)).value + (copies - 1) * of_groups);
  }
}

TEST(ContextParallel, RefusesRecurrencesWhoseHeadsRanksDoNotDivide) {
  const Diagnostics found =
      check_of("context-parallel", scenario(state_spaces(2), 8, {"cp=8", "seq=64"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "cp=8 does not divide the 4 heads of layers/x_proj that a tensor rank has, which "
            "context ranks exchange for tokens");
  EXPECT_EQ(found[0].fix, "cp=4");
}

TEST(ContextParallel, RefusesGroupsThatRanksNeitherDivideNorShare) {
  const auto found = [](std::int64_t heads, std::int64_t groups) {
    TransformerSpec spec = family_spec("mamba2");
    spec.name = "state spaces";
    spec.layers = 2, spec.hidden = 48, spec.heads = heads, spec.ffn = 4, spec.vocab = 8;
    spec.sequence = 64;
    spec.state_space = {.heads = heads, .width = 8, .state = 6, .groups = groups};
    std::string said;
    for (const Diagnostic& d :
         check_of("context-parallel", scenario(build_decoder(spec), 4, {"cp=4", "seq=64"})))
      said += d.message + "; try " + d.fix;
    return said;
  };
  EXPECT_EQ(found(12, 1), "");
  EXPECT_EQ(found(12, 2), "");
  EXPECT_EQ(found(12, 12), "");
  EXPECT_EQ(found(12, 6),
            "cp=4 is neither a part nor a multiple of the 6 groups of layers/b_proj that a tensor "
            "rank has, of which each context rank has some, or a copy of one; try cp=2");
}

// Each rank computes with the first token of the whole sequence, of 2 samples x 1024 x 2 bytes.
TEST(ContextParallel, APoolerIsGivenItsFirstToken) {
  TransformerSpec spec = family_spec("bert");
  spec.name = "pooler";
  spec.layers = 1, spec.hidden = 1024, spec.heads = 16, spec.ffn = 64;
  spec.vocab = 8, spec.sequence = 512;
  const Workload w =
      prepare(scenario(build_encoder(spec, EncoderHead::Pooler), 4, {"cp=4", "micro-batch=2"}));
  const Body& head = w.bodies.back();
  constexpr std::int64_t first = 2 * 1024 * 2;
  EXPECT_EQ(collectives(head.forward), (Words{ring(CollectiveKind::Broadcast, first)}));
  EXPECT_EQ(collectives(head.backward), (Words{ring(CollectiveKind::AllReduce, first)}));
  for (const BodyOp& op : head.forward) EXPECT_FALSE(op.overlapped) << op.name;
}

TEST(ContextParallel, RefusesTheScanOfTheFirstMamba) {
  const Diagnostics found = check_of(
      "context-parallel", scenario(testing::tiny_recurrent(Mixer::SelectiveScan), 2, {"cp=2"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "context ranks exchange the channels of a recurrence for tokens, and selective_scan of "
            "layers reads sums over all channels, so that no system divides its sequence");
  EXPECT_EQ(found[0].fix, "cp=1");
}

}  // namespace
}  // namespace trainyard
