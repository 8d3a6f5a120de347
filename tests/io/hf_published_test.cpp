// Public configs have the exact counts of their checkpoints, and layers differ as the configs say.
#include <gtest/gtest.h>

#include <map>

#include "core/io/models/hf_config_import.h"
#include "core/model/ops.h"
#include "core/model/zoo/zoo.h"
#include "tests/io/published_configs.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using testing::config_of;
using testing::kPublishedConfigs;
using testing::PublishedConfig;

Model model_with(const std::string& type, const std::string& more) {
  return import_hf_config(R"({"model_type": ")" + type + "\"" + more + "}", "c.json");
}

TEST(HfPublished, EveryConfigHasThePublishedCount) {
  std::size_t rows = 0;
  for (const PublishedConfig& row : testing::non_empty(kPublishedConfigs)) {
    const Model model = import_hf_config(config_of(row), "c.json");
    EXPECT_EQ(parameters(model), row.parameters) << row.name;
    EXPECT_EQ(layer_count(model), row.layers > 0 ? row.layers : 40) << row.name;  // dbrx has 40
    ++rows;
  }
  EXPECT_GE(rows, 70u);
}

TEST(HfPublished, ConfigsAndZooHaveTheSameCountsOfABlock) {
  int met = 0;
  for (const PublishedConfig& row : testing::non_empty(kPublishedConfigs)) {
    if (find_in_zoo(row.name) == nullptr) continue;
    const Model a = import_hf_config(config_of(row), "c.json"), b = zoo_model(row.name);
    ASSERT_EQ(a.blocks.size(), b.blocks.size()) << row.name;
    for (std::size_t i = 0; i < a.blocks.size(); ++i) {
      EXPECT_EQ(a.blocks[i].count, b.blocks[i].count) << row.name;
      EXPECT_EQ(a.blocks[i].name, b.blocks[i].name) << row.name;
      EXPECT_EQ(parameters(a.blocks[i]), parameters(b.blocks[i]))
          << row.name << " " << a.blocks[i].name;
    }
    EXPECT_EQ(active_parameters(a), active_parameters(b)) << row.name;
    ++met;
  }
  EXPECT_GE(met, 9);
}

// No exact count of a Nemotron is published; this is the sum over its parts.
TEST(HfPublished, NemotronHasASquaredReluAndNormsWithBiases) {
  const std::int64_t v = 256000, h = 3072, f = 9216, layers = 32, q = 24 * 128, kv = 8 * 128;
  const Model model =
      model_with("nemotron",
                 R"(, "hidden_size": 3072, "intermediate_size": 9216, "num_hidden_layers": 32,
           "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128)");
  EXPECT_EQ(parameters(model),
            2 * v * h + 2 * h + layers * (2 * h * q + 2 * h * kv + 2 * h * f + 4 * h));
  int squares = 0;
  for (const Node& node : model.blocks[1].graph.nodes) squares += node.op == &squared_relu();
  EXPECT_EQ(squares, 1);
}

// The windows of all layers, in order; 0 = the whole sequence. Chunks count as negative.
std::vector<std::int64_t> spans(const Model& model) {
  std::vector<std::int64_t> list;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &attention())
        list.insert(list.end(), static_cast<std::size_t>(block.count),
                    attribute(node, "window") - attribute(node, "chunk"));
  return list;
}
int rotated(const Model& model) {
  int count = 0;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      if (node.op == &rotary()) count += block.count;
  return count / 2;  // queries and keys
}

using Spans = std::vector<std::int64_t>;

TEST(HfPublished, LayersSlideAsTheConfigSays) {
  EXPECT_EQ(spans(model_with("gpt_oss", R"(, "num_hidden_layers": 4)")), (Spans{128, 0, 128, 0}));
  EXPECT_EQ(spans(model_with("gpt_oss", R"(, "num_hidden_layers": 2, "sliding_window": 64,
      "layer_types": ["full_attention", "sliding_attention"])")),
            (Spans{0, 64}));
  EXPECT_EQ(spans(model_with("gemma2", R"(, "num_hidden_layers": 3)")), (Spans{4096, 0, 4096}));
  EXPECT_EQ(spans(model_with("gemma3_text", R"(, "num_hidden_layers": 7, "sliding_window": 512)")),
            (Spans{512, 512, 512, 512, 512, 0, 512}));
  EXPECT_EQ(
      spans(model_with("gemma3_text", R"(, "num_hidden_layers": 4, "sliding_window_pattern": 2)")),
      (Spans{4096, 0, 4096, 0}));
  EXPECT_EQ(spans(model_with("olmo3", R"(, "num_hidden_layers": 5)")),
            (Spans{4096, 4096, 4096, 0, 4096}));
  EXPECT_EQ(spans(model_with("llama4_text", R"(, "num_hidden_layers": 5)")),
            (Spans{-8192, -8192, -8192, 0, -8192}));
}

TEST(HfPublished, LayersWithoutPositionsRotateNothing) {
  EXPECT_EQ(rotated(model_with("cohere2", R"(, "num_hidden_layers": 8)")), 6);
  EXPECT_EQ(rotated(model_with("llama4_text", R"(, "num_hidden_layers": 8)")), 6);
  EXPECT_EQ(rotated(model_with("llama4_text", R"(, "num_hidden_layers": 3,
                                                   "no_rope_layers": [0, 1, 0])")),
            1);
  EXPECT_EQ(rotated(model_with("smollm3", R"(, "num_hidden_layers": 8)")), 6);
}

TEST(HfPublished, ExpertsAlternateWithDenseLayers) {
  const auto blocks = [](const char* more) {
    std::map<std::string, int> found;
    for (const Block& block : model_with("llama4_text", more).blocks)
      if (block.layer) found[block.graph.nodes.back().name] += block.count;
    return found;
  };
  EXPECT_EQ(blocks(R"(, "num_hidden_layers": 4)"), blocks(R"(, "num_hidden_layers": 4,
                                                              "moe_layers": [0, 1, 2, 3])"));
  const auto count = [](const char* more) { return parameters(model_with("llama4_text", more)); };
  const std::int64_t routed = 16 * 3 * 5120 * 8192 + 5120 * 16 + 3 * 5120 * 8192,
                     dense = 3 * 5120 * 16384;
  EXPECT_EQ(count(R"(, "num_hidden_layers": 4)") -
                count(R"(, "num_hidden_layers": 4, "interleave_moe_layer_step": 2)"),
            2 * (routed - dense));
  EXPECT_EQ(count(R"(, "num_hidden_layers": 4, "moe_layers": [3])"),
            count(R"(, "num_hidden_layers": 4, "interleave_moe_layer_step": 4)"));
}

TEST(HfPublished, WrongConfigsOfNewTypesEarnTheirSentence) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"model_type": "gpt_oss", "num_hidden_layers": 3, "layer_types": ["full_attention"]})",
       "c.json#/layer_types: expected the type of each of 3 layers, found 1"},
      {R"({"model_type": "gpt_oss", "num_hidden_layers": 1, "layer_types": ["full_attentoin"]})",
       "c.json#/layer_types/0: expected one of full_attention, sliding_attention, "
       "chunked_attention, found \"full_attentoin\"; did you mean \"full_attention\"?"},
      {R"({"model_type": "dbrx"})", "c.json#: expected the key \"attn_config\", which is missing"},
      {R"({"model_type": "dbrx", "attn_config": {}, "ffn_config": {"moe_top_k": 5}})",
       "c.json#/ffn_config/moe_top_k: expected a whole number from 1 to 4, found 5"},
      {R"({"model_type": "deepseek_v2"})",
       "c.json#: expected the key \"n_routed_experts\", which is missing"},
      {R"({"model_type": "minimax_m2", "attn_type_list": [1, 0]})",
       "c.json#/attn_type_list/1: expected softmax attention (1) in every layer, found 0"},
      {R"({"model_type": "llama4_text", "no_rope_layers": [1]})",
       "c.json#/no_rope_layers: expected 1 or 0 for each of 48 layers, found 1"},
      {R"({"model_type": "falcon", "n_head": 70})",
       "c.json#/n_head: expected attention heads that divide the hidden size 4544, found 70"},
  };
  for (const auto& [config, sentence] : wrong)
    EXPECT_EQ(testing::refusal([config = config] { import_hf_config(config, "c.json"); }),
              sentence);
}

}  // namespace
}  // namespace trainyard
