// Tests what each policy keeps and repeats in GPT's layer (Korthikanti et al. 2022).
#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::collectives;
using testing::gpt;
using testing::layer;
using testing::names;
using testing::scenario;
using testing::Words;

// A microbatch's s b h and 5 a s^2 b of the paper, and all that a layer keeps.
constexpr std::int64_t kElements = 512 * 2 * 1024, kScores = 5 * 16 * 512 * 512 * 2;
constexpr std::int64_t kWhole = 34 * kElements + kScores + 2 * 8 * 512 * 2;

Workload workload(std::initializer_list<std::string_view> more) {
  testing::Settings settings = {"micro-batch=2", "flash-attention=off"};
  settings.insert(settings.end(), more);
  return prepare(scenario(gpt(), 8, settings));
}

Words repeated(const Body& body) {
  Words found;
  for (const BodyOp& op : body.backward)
    if (op.recomputed) found.push_back(op.communication ? "[" + op.name + "]" : op.name);
  return found;
}

TEST(Recompute, NoneKeepsEverything) {
  const Workload w = workload({});
  EXPECT_EQ(saved_bytes(layer(w)).value, kWhole);
  EXPECT_EQ(recomputed_bytes(layer(w)).value, 0);
  EXPECT_TRUE(repeated(layer(w)).empty());
}

TEST(Recompute, SelectiveDropsTheAttentionCoreAndRepeatsAttentionOnly) {
  const Workload w = workload({"recompute=selective"});
  EXPECT_EQ(saved_bytes(layer(w)).value, kWhole - kScores);
  EXPECT_EQ(recomputed_bytes(layer(w)).value, kScores);
  EXPECT_EQ(repeated(layer(w)), Words{"attention"});
  // Just before the backward that reads it.
  const Words order = names(layer(w).backward);
  const auto again = std::find(order.begin(), order.end(), "attention");
  EXPECT_EQ(*(again + 1), "attention");
  EXPECT_EQ(*(again - 1), "attn.c_proj");
}

TEST(Recompute, FullKeepsTheInputOfALayer) {
  const Workload w = workload({"recompute=full"});
  EXPECT_EQ(saved_bytes(layer(w)).value, 2 * kElements);
  EXPECT_EQ(recomputed_bytes(layer(w)).value, kWhole - 2 * kElements);
  EXPECT_EQ(repeated(layer(w)), names(layer(w).forward));
}

TEST(Recompute, FullRepeatsTheWholeForwardFirst) {
  const Workload w = workload({"recompute=full"});
  const Body& body = layer(w);
  ASSERT_GT(body.backward.size(), body.forward.size());
  for (std::size_t i = 0; i < body.forward.size(); ++i) {
    EXPECT_EQ(body.backward[i].work, body.forward[i].work);
    EXPECT_EQ(body.backward[i].pass, Pass::BackwardInput);
    EXPECT_TRUE(body.backward[i].recomputed);
  }
  EXPECT_FALSE(body.backward[body.forward.size()].recomputed);
}

TEST(Recompute, FullRepeatsTheTensorCollectivesToo) {
  const Workload none = workload({"tp=8"}), full = workload({"tp=8", "recompute=full"});
  Words expected = collectives(layer(none).forward);
  const Words backward = collectives(layer(none).backward);
  expected.insert(expected.end(), backward.begin(), backward.end());
  EXPECT_EQ(collectives(layer(full).backward), expected);
  EXPECT_EQ(saved_bytes(layer(full)).value, 2 * kElements / 8);
  const Workload whole = workload({"tp=8", "sp=off", "recompute=full"});
  EXPECT_EQ(saved_bytes(layer(whole)).value, 2 * kElements);
}

// A layer whose ops need nothing of its input still keeps it: the second forward starts there.
TEST(Recompute, FullKeepsAnInputThatNothingElseNeeds) {
  Body body;
  body.saved.push_back({"mask", NodeId{0}, NodeId{0}, false, {}, false, false, Bytes{100}});
  body.forward.emplace_back();
  Scenario s1 = scenario(gpt(), 1, {});
  body.block = 1;
  const Layout layout;
  recompute().rewrite(body, layout, s1, Params{{"policy", std::string("full")}});
  const Graph& graph = s1.model.blocks[1].graph;
  EXPECT_EQ(saved_bytes(body), local_bytes(graph[graph.input], layout.binding, layout.precision));
  EXPECT_EQ(recomputed_bytes(body), Bytes{100});
}

TEST(Recompute, LeavesWhatIsNoLayerAlone) {
  const Workload none = workload({}), full = workload({"recompute=full"});
  ASSERT_EQ(none.bodies.size(), full.bodies.size());
  EXPECT_EQ(saved_bytes(full.bodies.front()), saved_bytes(none.bodies.front()));
  EXPECT_EQ(saved_bytes(full.bodies.back()), saved_bytes(none.bodies.back()));
}

// The first layer of every stage in full, the others not at all.
TEST(Recompute, BlocksTakesTheFirstLayersOfEveryStage) {
  const Workload w = prepare(scenario(gpt(), 8, {"pp=2", "recompute=blocks=1"}));
  ASSERT_EQ(w.runs.size(), 2u);
  const auto kinds = [&](std::size_t stage) {
    Words found;
    for (const Workload::Run& run : w.runs[stage]) {
      const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
      found.push_back(std::to_string(run.count) +
                      (repeated(body).empty() ? " kept at " : " full at ") +
                      std::to_string(run.first_layer));
    }
    return found;
  };
  EXPECT_EQ(kinds(0), (Words{"1 kept at 0", "1 full at 1", "1 kept at 2"}));
  EXPECT_EQ(kinds(1), (Words{"1 full at 3", "1 kept at 4", "1 kept at 5"}));
}

// Each virtual stage its own runs: the first holds more microbatches.
TEST(Recompute, RunsByStageGiveEachLayerItsPolicy) {
  const Workload w = prepare(scenario(
      gpt({.layers = 8}), 8, {"pp=2", "recompute=full*2,keep=attention*1,none/op*1,none"}));
  std::vector<Words> found;
  for (const std::vector<Workload::Run>& stage : w.runs) {
    Words words;
    for (const Workload::Run& run : stage) {
      const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
      if (!w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer) continue;
      words.push_back(std::to_string(run.count) + " at " + std::to_string(run.first_layer) +
                      ", again " + std::to_string(repeated(body).size()));
    }
    found.push_back(std::move(words));
  }
  const std::string all = std::to_string(names(layer(workload({})).forward).size());
  const std::string op = std::to_string(repeated(layer(workload({"recompute=op"}))).size());
  const std::string kept =
      std::to_string(repeated(layer(workload({"recompute=keep=attention"}))).size());
  EXPECT_EQ(found[0], (Words{"2 at 1, again " + all, "1 at 3, again " + kept, "1 at 4, again 0"}));
  EXPECT_EQ(found[1], (Words{"1 at 5, again " + op, "3 at 6, again 0"}));
}

// Tensors that backward reads are kept or recomputed; others are neither.
TEST(Recompute, KeepRunsAgainWhatBackwardReadsAndNothingElse) {
  const Workload w = workload({"recompute=keep=input"});
  EXPECT_EQ(saved_bytes(layer(w)).value, 2 * kElements);
  Words expected = names(layer(w).forward);
  ASSERT_EQ(expected.back(), "mlp_add");
  expected.pop_back();
  EXPECT_EQ(repeated(layer(w)), expected);
}

TEST(Recompute, KeepHoldsWhatItsNodesMakeAndTheOpsThatRunAgainRead) {
  const Workload w = workload({"recompute=keep=qkv+attention"});
  const Words again = repeated(layer(w));
  for (const char* kept : {"attn.c_attn", "attention"})
    EXPECT_EQ(std::count(again.begin(), again.end(), kept), 0) << kept;
  // Input, q k v, attention's output, scores and mask.
  EXPECT_EQ(saved_bytes(layer(w)).value, (2 + 6 + 2) * kElements + kScores);
  const Workload all = workload({"recompute=none"}), fused = workload({"flash-attention=on"});
  EXPECT_LT(saved_bytes(layer(w)), saved_bytes(layer(all)));
  EXPECT_EQ(recomputed_bytes(layer(w)), saved_bytes(layer(all)) - saved_bytes(layer(w)));
}

// Kept at the end of its reduction: no collective runs again for it, only what enters a product
// that does.
TEST(Recompute, KeepRepeatsTheCollectivesOfWhatRunsAgain) {
  const auto again = [](std::string_view policy) {
    Words found;
    for (const std::string& name : repeated(layer(workload({"tp=8", policy}))))
      if (name[0] == '[') found.push_back(name);
    return found;
  };
  // The second dropout's mask is made again, and so what it drops.
  EXPECT_EQ(again("recompute=keep=input"), (Words{"[gather ln_1]", "[reduce attn.c_proj]",
                                                  "[gather ln_2]", "[reduce mlp.c_proj]"}));
  EXPECT_EQ(again("recompute=keep=attn.c_proj+mlp_dropout"),
            (Words{"[gather ln_1]", "[gather ln_2]"}));
  EXPECT_EQ(again("recompute=keep=attn.c_proj+qkv+mlp.c_fc+mlp_dropout"), Words{});
}

TEST(Recompute, BlocksAreAtMostTheLayersOfTheFullestStage) {
  const auto found = [](std::initializer_list<std::string_view> more) {
    testing::Settings settings = {"pp=2"};
    settings.insert(settings.end(), more);
    return check_of("recompute", scenario(gpt(), 8, settings));
  };
  EXPECT_TRUE(found({"recompute=blocks=2"}).empty());
  EXPECT_TRUE(found({"recompute=blocks=3", "split=3,1"}).empty());
  const Diagnostics wrong = found({"recompute=blocks=3"});
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0].message, "recompute=blocks=3 asks for more layers than a stage has (2)");
  EXPECT_EQ(wrong[0].place.text, "plan#/choices/recompute");
  EXPECT_EQ(wrong[0].fix, "recompute=full");
}

TEST(Recompute, WarnsThatFusedAttentionLeavesNothingToSelect) {
  const Diagnostics found =
      check_of("recompute", scenario(gpt(), 8, {"recompute=selective", "flash-attention=on"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Diagnostic::Severity::Warning);
  EXPECT_EQ(found[0].message,
            "recompute=selective drops the attention scores, which fused attention never keeps: "
            "nothing is saved");
  EXPECT_EQ(found[0].fix, "recompute=none");
  const Workload w = prepare(scenario(gpt(), 8, {"recompute=selective", "micro-batch=2"}));
  EXPECT_EQ(recomputed_bytes(layer(w)).value, 0);
  EXPECT_TRUE(repeated(layer(w)).empty());
}

}  // namespace
}  // namespace trainyard
