// What each policy keeps and repeats on GPT's layer (Korthikanti et al. 2022).
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

constexpr std::int64_t s = 512, b = 2, h = 1024, a = 16;
constexpr std::int64_t kWhole = 34 * s * b * h + 5 * a * s * s * b + 2 * 8 * s * b;

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
  EXPECT_EQ(saved_bytes(layer(w)).value, kWhole - 5 * a * s * s * b);
  EXPECT_EQ(recomputed_bytes(layer(w)).value, 5 * a * s * s * b);
  EXPECT_EQ(repeated(layer(w)), Words{"attention"});
  // Just before the backward that reads it.
  const Words order = names(layer(w).backward);
  const auto again = std::find(order.begin(), order.end(), "attention");
  EXPECT_EQ(*(again + 1), "attention");
  EXPECT_EQ(*(again - 1), "attn.c_proj");
}

TEST(Recompute, FullKeepsTheInputOfALayer) {
  const Workload w = workload({"recompute=full"});
  EXPECT_EQ(saved_bytes(layer(w)).value, 2 * s * b * h);
  EXPECT_EQ(recomputed_bytes(layer(w)).value, kWhole - 2 * s * b * h);
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
  EXPECT_EQ(saved_bytes(layer(full)).value, 2 * s * b * h / 8);
  const Workload whole = workload({"tp=8", "sp=off", "recompute=full"});
  EXPECT_EQ(saved_bytes(layer(whole)).value, 2 * s * b * h);
}

// A layer whose ops need nothing of its input still keeps it: the second forward starts there.
TEST(Recompute, FullKeepsAnInputThatNothingElseNeeds) {
  Body body;
  body.input = Bytes{640};
  body.saved.push_back({"mask", NodeId{0}, NodeId{0}, false, {}, false, false, Bytes{100}});
  body.forward.emplace_back();
  Scenario s1 = scenario(gpt(), 1, {});
  body.block = 1;
  recompute().rewrite(body, Layout{}, s1, Params{{"policy", std::string("full")}});
  EXPECT_EQ(saved_bytes(body), Bytes{640});
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
