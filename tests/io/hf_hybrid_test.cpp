// Configs with state spaces and the delta rule: which layers they have, and the sentences that
// wrong ones and types that cannot be built earn.
#include <gtest/gtest.h>

#include <map>

#include "core/io/models/hf_config_import.h"
#include "core/model/ops.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

Model hybrid(const std::string& type, const std::string& more) {
  return import_hf_config(R"({"model_type": ")" + type + "\"" + more + "}", "c.json");
}

// How many layers have a node of that op, by the op's name.
std::map<std::string_view, int> layers_with(const Model& model) {
  std::map<std::string_view, int> count;
  for (const Block& block : model.blocks)
    for (const Op* op : {&attention(), &state_space(), &gated_delta(), &selective_scan(), &router(),
                         &squared_relu()})
      for (const Node& node : block.graph.nodes)
        if (node.op == op) {
          count[op->name] += block.count;
          break;
        }
  return count;
}

using Counts = std::map<std::string_view, int>;

TEST(HfHybrid, LayersAreOfTheKindsThatTheConfigSays) {
  EXPECT_EQ(layers_with(hybrid("mamba2", R"(, "num_hidden_layers": 3)")),
            (Counts{{"state_space", 3}}));
  EXPECT_EQ(layers_with(hybrid("mamba", R"(, "num_hidden_layers": 3)")),
            (Counts{{"selective_scan", 3}}));
  EXPECT_EQ(layers_with(hybrid("jamba", "")),
            (Counts{{"selective_scan", 28}, {"attention", 4}, {"router", 16}}));
  EXPECT_EQ(layers_with(hybrid("bamba", R"(, "attn_layer_indices": [9, 18, 27])")),
            (Counts{{"state_space", 29}, {"attention", 3}}));
  EXPECT_EQ(layers_with(hybrid("nemotron_h", R"(, "num_hidden_layers": 6,
                                                  "hybrid_override_pattern": "MEM*-M")")),
            (Counts{{"state_space", 3}, {"attention", 1}, {"router", 1}, {"squared_relu", 2}}));
  EXPECT_EQ(layers_with(hybrid("qwen3_next", "")),
            (Counts{{"gated_delta", 36}, {"attention", 12}, {"router", 48}}));
  EXPECT_EQ(layers_with(hybrid("qwen3_next", R"(, "num_hidden_layers": 2,
                                "layer_types": ["full_attention", "linear_attention"])")),
            (Counts{{"gated_delta", 1}, {"attention", 1}, {"router", 2}}));
  EXPECT_EQ(layers_with(hybrid("granitemoehybrid", R"(, "num_hidden_layers": 2,
                                "num_local_experts": 0, "layer_types": ["mamba", "attention"])")),
            (Counts{{"state_space", 1}, {"attention", 1}}));
}

// No exact count of Bamba is published; this is the sum over its parts.
TEST(HfHybrid, BambaHasAFeedForwardPartInEveryLayer) {
  const std::int64_t h = 4096, f = 14336, v = 128256, inner = 8192, state = 128, heads = 128,
                     group = 2 * state;
  const Model model = hybrid("bamba", R"(, "vocab_size": 128256, "mamba_d_state": 128,
                                           "attn_layer_indices": [9, 18, 27])");
  const std::int64_t scan = h * (2 * inner + group + heads) + 5 * (inner + group) + 3 * heads +
                            inner + inner * h,
                     attend = 2 * h * h + 2 * h * 1024, fed = 3 * h * f + 2 * h;
  EXPECT_EQ(parameters(model), 2 * v * h + h + 29 * scan + 3 * attend + 32 * fed);
}

TEST(HfHybrid, WrongConfigsEarnTheirSentence) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"model_type": "mamba2", "num_heads": 96})",
       "c.json#/num_heads: expected heads whose widths sum to 8192, found 96 of 64"},
      {R"({"model_type": "mamba2", "n_groups": 3})",
       "c.json#/n_groups: expected groups that divide the 128 heads of a state space, found 3"},
      {R"({"model_type": "nemotron_h"})",
       "c.json#: expected the key \"hybrid_override_pattern\", which is missing"},
      {R"({"model_type": "nemotron_h", "num_hidden_layers": 2, "hybrid_override_pattern": "M"})",
       "c.json#/hybrid_override_pattern: expected a letter for each of 2 layers, found 1"},
      {R"({"model_type": "nemotron_h", "num_hidden_layers": 2, "hybrid_override_pattern": "MX"})",
       "c.json#/hybrid_override_pattern: expected M, *, - or E for each layer, found X"},
      {R"({"model_type": "qwen3_next", "linear_num_key_heads": 5})",
       "c.json#/linear_num_key_heads: expected key heads that divide the 32 value heads, found 5"},
      {R"({"model_type": "bamba", "mamba_n_heads": 100})",
       "c.json#/mamba_n_heads: expected heads of a state space that divide its width 8192, found "
       "100"},
      {R"({"model_type": "bamba", "mamba_d_head": "automatic"})",
       "c.json#/mamba_d_head: expected one of auto, found \"automatic\"; did you mean \"auto\"?"},
      {R"({"model_type": "bamba", "attn_layer_indices": [32]})",
       "c.json#/attn_layer_indices/0: expected a whole number from 0 to 31, found 32"},
      {R"({"model_type": "granitemoehybrid", "num_hidden_layers": 1, "layer_types": ["mambo"]})",
       "c.json#/layer_types/0: expected one of mamba, attention, found \"mambo\"; did you mean "
       "\"mamba\"?"},
  };
  for (const auto& [config, sentence] : wrong)
    EXPECT_EQ(testing::refusal([config = config] { import_hf_config(config, "c.json"); }),
              sentence);
}

TEST(HfHybrid, WhatCannotBeBuiltNamesWhatItLacksAndTheNearest) {
  const auto refusal = [](const std::string& type) {
    const std::string said = testing::refusal([&] { hybrid(type, ""); });
    return said.substr(std::min(said.size(), said.find("found")));
  };
  EXPECT_EQ(refusal("kimi_linear"),
            "found \"kimi_linear\"; it has the delta rule with a decay for each channel, which no "
            "layer here can express; the nearest is \"qwen3_next\"");
  EXPECT_EQ(refusal("minimax_text_01"),
            "found \"minimax_text_01\"; it has lightning attention, which no layer here can "
            "express; the nearest is \"minimax_m2\"");
}

TEST(HfHybrid, TowersOfLargerModelsAreNamed) {
  const Model model = hybrid("wonder", R"(, "vision_config": {"num_hidden_layers": 27},
      "audio_config": {}, "text_config": {"model_type": "gemma3_text"})");
  EXPECT_EQ(model.family, "gemma3");
  EXPECT_EQ(model.assumed.back(),
            "only the language part of a larger model is read: its vision tower of 27 layers, its "
            "audio tower are left out");
}

}  // namespace
}  // namespace trainyard
