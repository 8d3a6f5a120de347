// Tests what low-rank adaptation does to a layer: what is computed, kept, reduced, gathered and
// held.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "core/model/trained_parts.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::layer;
using testing::names;
using testing::scenario;
using testing::Settings;

Workload adapted_gpt(const Settings& settings, std::int64_t devices = 8) {
  return prepare(scenario(gpt(), devices, settings));
}

Settings joined_settings(Settings settings, std::initializer_list<std::string_view> more) {
  settings.insert(settings.end(), more);
  return settings;
}

bool belongs_to_adapter(const BodyOp& op) { return op.name.find(".lora_") != std::string::npos; }

// A layer of GPT of width h: qkv [h, 3h], out [h, h], up [h, 4h], down [4h, h].
constexpr std::int64_t kGptWidth = 1024, kGptAdapters = (1 + 3 + 1 + 1 + 1 + 4 + 4 + 1) * kGptWidth,
                       kGptWeights = 12 * kGptWidth * kGptWidth + 13 * kGptWidth;

TEST(Lora, TheAdaptersAreAllThatIsTrained) {
  const Workload w = adapted_gpt({"lora=16"});
  const LocalParameters& p = layer(w).parameters;
  EXPECT_EQ(p.dense, 16 * kGptAdapters);
  EXPECT_EQ(p.frozen_dense, kGptWeights);
  EXPECT_EQ(trained_parameters(w.scenario.model), 4 * 16 * kGptAdapters);
  for (const Body& body : w.bodies)
    if (!w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer) {
      EXPECT_EQ(body.parameters.dense, 0);
    }
}

// Mixtral's experts: gate and up [h, f], down [f, h], each with a pair of its own for every expert.
TEST(Lora, EachExpertHasAnAdapterOfItsOwn) {
  constexpr std::int64_t kWidth = 512, kInner = 1024, kCount = 8;
  for (const char* ep : {"ep=1", "ep=4"}) {
    const Workload w =
        prepare(scenario(testing::mixture(), 8, {"lora=16", "lora.targets=experts", ep, "zero=0"}));
    const LocalParameters& p = layer(w).parameters;
    EXPECT_EQ(p.expert, 16 * 3 * (kWidth + kInner) * kCount / (ep[3] - '0')) << ep;
    EXPECT_EQ(p.frozen_expert, 3 * kWidth * kInner * kCount / (ep[3] - '0')) << ep;
    EXPECT_EQ(p.dense, 0) << ep;
  }
}

TEST(Lora, FrozenProductsHaveNoWeightGradientsAndKeepNoInput) {
  const Body plain = layer(adapted_gpt({})), adapted = layer(adapted_gpt({"lora=16"}));
  std::set<std::string> weights;
  for (const BodyOp& op : testing::non_empty(adapted.backward))
    if (op.pass == Pass::BackwardWeight) weights.insert(op.name);
  for (const std::string& name : testing::non_empty(weights))
    EXPECT_TRUE(name.ends_with(".lora_A") || name.ends_with(".lora_B")) << name;
  EXPECT_EQ(weights.size(), 8u);
  // Everything else runs as before.
  testing::Words before, after;
  for (const BodyOp& op : plain.backward)
    if (op.pass == Pass::BackwardInput) before.push_back(op.name);
  for (const BodyOp& op : adapted.backward)
    if (op.pass == Pass::BackwardInput && !belongs_to_adapter(op)) after.push_back(op.name);
  EXPECT_EQ(after, before);
  // The input of the MLP's second product is kept for its weights alone, or for its adapter's.
  const auto keeps_its_input = [](const Body& body, const Model& model) {
    const Graph& graph = model.blocks[static_cast<std::size_t>(body.block)].graph;
    TensorId input;
    for (const Node& node : graph.nodes)
      if (node.op->name == "matmul" && !is_adapter(node)) input = node.inputs[0];
    return std::any_of(body.saved.begin(), body.saved.end(),
                       [&](const SavedTensor& s) { return s.tensor == input; });
  };
  for (const auto& [targets, kept] :
       {std::pair{"lora.targets=attention", false}, {"lora.targets=mlp", true}}) {
    const Workload w = adapted_gpt({"lora=16", targets});
    EXPECT_EQ(keeps_its_input(layer(w), w.scenario.model), kept) << targets;
  }
}

TEST(Lora, StateIsThatOfTheAdapters) {
  for (const Settings& precision : {Settings{"precision=bf16"}, Settings{"precision=fp32"}})
    for (std::string_view zero : {"zero=0", "zero=1", "zero=2", "zero=3"}) {
      const Workload w = adapted_gpt(joined_settings(precision, {"lora=16", zero, "dp=8"}));
      const Layout& layout = w.layout;
      const LocalParameters& p = layer(w).parameters;
      const StateBytes state = state_bytes(layer(w), layout);
      const auto share_of = [](std::int64_t n, std::int64_t shards) {
        return share(Bytes{n}, shards).value;
      };
      EXPECT_EQ(state.gradients.value,
                share_of(p.dense, layout.gradient_shards) * bytes_of(layout.precision.gradient));
      EXPECT_EQ(state.optimizer.value,
                share_of(p.dense, layout.optimizer_shards) *
                    (layout.optimizer_bytes + (layout.precision.master_weights ? 4 : 0)));
      EXPECT_EQ(state.weights.value, (share_of(p.dense, layout.weight_shards) +
                                      share_of(p.frozen_dense, layout.weight_shards)) *
                                         bytes_of(layout.precision.parameter));
    }
}

TEST(Lora, OnlyAdaptersAreReducedAndFrozenWeightsAreGatheredWhereTheyAreDivided) {
  const auto bytes = [](const std::vector<BodyOp>& ops) {
    std::int64_t sum = 0;
    for (const BodyOp& op : ops)
      if (op.communication) sum += op.bytes.value;
    return sum;
  };
  for (std::string_view zero : {"zero=0", "zero=1", "zero=2", "zero=3"}) {
    const Workload w = adapted_gpt({"lora=16", zero, "dp=8"});
    const Body& body = layer(w);
    const std::int64_t weight = bytes_of(w.layout.precision.parameter),
                       gradient = bytes_of(w.layout.precision.gradient);
    EXPECT_EQ(bytes(body.reduce), 16 * kGptAdapters * gradient) << zero;
    if (zero == "zero=1" || zero == "zero=2") {
      EXPECT_EQ(bytes(body.gather), 16 * kGptAdapters * weight) << zero;
    }
    if (zero == "zero=3") {
      EXPECT_EQ(bytes(body.forward), (16 * kGptAdapters + kGptWeights) * weight);
      EXPECT_EQ(bytes(body.backward), (16 * kGptAdapters + kGptWeights) * weight);
      EXPECT_EQ(body.unreduced.value, 16 * kGptAdapters * gradient);
    }
  }
}

TEST(Lora, TheEmbeddingHasNoBackward) {
  const Workload w = adapted_gpt({"lora=16", "zero=3", "dp=8"});
  const Body& embedding = w.bodies.front();
  EXPECT_EQ(embedding.block, 0);
  EXPECT_TRUE(embedding.backward.empty());
  EXPECT_TRUE(embedding.saved.empty());
  EXPECT_TRUE(embedding.reduce.empty());
  EXPECT_FALSE(embedding.forward.empty());
}

// A third of a product's FLOPs, 2 of 6 a parameter and token, are its weight gradient's.
TEST(Lora, FlopsOfFrozenWeightsFallByAThird) {
  const auto flops = [](const Workload& w, bool of_adapters) {
    double sum = 0;
    for (const auto* ops : {&layer(w).forward, &layer(w).backward})
      for (const BodyOp& op : *ops)
        if (op.work.kind == WorkKind::Product && belongs_to_adapter(op) == of_adapters)
          sum += op.work.flops.value;
    return sum;
  };
  const Workload plain = adapted_gpt({}), adapted = adapted_gpt({"lora=16"});
  EXPECT_DOUBLE_EQ(flops(adapted, false), flops(plain, false) * 2 / 3);
  const double tokens = 512;
  EXPECT_DOUBLE_EQ(flops(adapted, true), 6 * tokens * 16 * kGptAdapters);
}

TEST(Lora, TensorRanksReduceNarrowSums) {
  const Workload w = adapted_gpt({"lora=16", "tp=4", "sequence-parallel=off"});
  const std::int64_t narrow = 512 * 16 * bytes_of(w.layout.precision.activation);
  std::map<std::string, std::int64_t> found;
  for (const auto* ops : {&layer(w).forward, &layer(w).backward})
    for (const BodyOp& op : *ops)
      if (op.communication && belongs_to_adapter(op)) found[op.name] = op.bytes.value;
  int sums = 0;
  for (const auto& [name, bytes] : testing::non_empty(found)) {
    EXPECT_EQ(bytes, narrow) << name;
    ++sums;
  }
  EXPECT_EQ(sums, 4);  // x A of both row-cut products, and gradients of it for both column-cut ones
  // A of a column-cut product and B of a row-cut one are whole.
  const std::int64_t h = kGptWidth, r = 16, t = 4;
  EXPECT_EQ(layer(w).parameters.dense,
            r * (h + 3 * h / t) + r * (h / t + h) + r * (h + 4 * h / t) + r * (4 * h / t + h));
}

TEST(Lora, ThePlanIsPreparedAgainAndByOtherRanks) {
  Scenario s = scenario(gpt(), 8, {"lora=16"});
  const Workload once = prepare(s), twice = prepare(once.scenario);
  EXPECT_EQ(trained_parameters(twice.scenario.model), trained_parameters(once.scenario.model));
  Scenario other = once.scenario;
  apply_setting(other.plan, "lora=4");
  EXPECT_EQ(trained_parameters(prepare(other).scenario.model), 4 * 4 * kGptAdapters);
  apply_setting(other.plan, "lora=off");
  EXPECT_FALSE(any_frozen(prepare(other).scenario.model));
  EXPECT_EQ(parameters(prepare(other).scenario.model), parameters(s.model));
}

TEST(Lora, WhatNoRunCouldTrainIsRefused) {
  const auto first = [](Scenario s) {
    for (const Diagnostic& d : check(s))
      if (d.severity == Diagnostic::Severity::Error) return d.message + " | " + d.fix;
    return std::string();
  };
  EXPECT_EQ(first(scenario(gpt(), 8, {"lora=16", "frozen=embedding,head"})),
            "lora freezes all weights but its adapters, and the plan freezes parts beside it | "
            "frozen=none");
  EXPECT_EQ(first(scenario(gpt(), 4, {"lora=16", "pp=4", "schedule=pipedream"})),
            "frozen weights are modelled for schedules that update once a step, and pipedream "
            "updates while microbatches are under way | schedule=1f1b");
  EXPECT_EQ(first(scenario(gpt(), 8, {"frozen=embedding,layers,head"})),
            "expected weights that are trained, found that all of gpt are frozen | ");
  EXPECT_EQ(first(scenario(gpt(), 8, {"lora=16", "lora.targets=o_projj"})).substr(0, 60),
            "expected attention, mlp, experts, all-linear or a linear lay");
  EXPECT_EQ(first(scenario(testing::tiny_encoder_decoder("t5", 2), 1, {"lora=2"})).substr(0, 66),
            "frozen weights are modelled for layers that read the layer before ");
}

}  // namespace
}  // namespace trainyard
