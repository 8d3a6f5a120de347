// The sizes read back from graphs build the same graphs again.
#include "core/exporters/decoder_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/io/json/json.h"
#include "core/io/models/hf_config_import.h"
#include "core/model/edit.h"
#include "core/model/fields.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// Decoders whose layers differ have no one spec.
const std::set<std::string_view> kUnlike = {"gpt_oss", "gemma3", "llama", "qwen3_next"};
const std::set<std::string_view> kNoDecoders = {
    "bert", "vit", "t5",   "transformer", "resnet",  "wide_resnet", "vgg",
    "mlp",  "cnn", "lstm", "dlrm",        "convnet", "vlm",         "inception"};

std::ptrdiff_t layer_blocks(const Model& model) {
  return std::count_if(model.blocks.begin(), model.blocks.end(),
                       [](const Block& block) { return block.layer; });
}

TEST(DecoderSpec, EveryDecoderOfTheZooIsBuiltAgain) {
  int decoders = 0;
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const Model model = zoo_model(entry.name);
    const std::optional<TransformerSpec> spec = decoder_spec(model);
    if (!spec) {
      EXPECT_TRUE(kNoDecoders.count(entry.family) == 1 ||
                  (kUnlike.count(entry.family) == 1 && layer_blocks(model) > 1))
          << entry.name << " of " << entry.family;
      continue;
    }
    ++decoders;
    EXPECT_EQ(parameters(build_decoder(*spec)), parameters(model)) << entry.name;
    EXPECT_EQ(active_parameters(build_decoder(*spec)), active_parameters(model)) << entry.name;
  }
  EXPECT_GE(decoders, 25);
}

// The keys of a Hugging Face config that a decoder of the llama line has.
std::string hf_config(const std::string& type, const TransformerSpec& spec) {
  const bool expert = spec.experts.count > 0, latent = spec.latent.kv_rank > 0;
  Json json = Json::object();
  const auto set = [&](const char* key, std::int64_t value) { json.set(key, value); };
  json.set("model_type", type).set("tie_word_embeddings", spec.tied);
  json.set("attention_bias", spec.out_bias);
  set("num_hidden_layers", spec.layers), set("hidden_size", spec.hidden);
  set("num_attention_heads", spec.heads), set("vocab_size", spec.vocab);
  set("intermediate_size", spec.ffn), set("max_position_embeddings", spec.sequence);
  if (!latent) set("num_key_value_heads", spec.kv_heads > 0 ? spec.kv_heads : spec.heads);
  if (!latent && spec.head_dim > 0) set("head_dim", spec.head_dim);
  if (expert) {
    for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"})
      set(key, spec.experts.count);
    set("num_experts_per_tok", spec.experts.top_k);
    set("moe_intermediate_size", spec.experts.ffn), set("n_shared_experts", spec.experts.shared);
    set("first_k_dense_replace", spec.experts.dense_layers);
  }
  if (latent) {
    set("q_lora_rank", spec.latent.q_rank), set("kv_lora_rank", spec.latent.kv_rank);
    set("qk_nope_head_dim", spec.latent.nope), set("qk_rope_head_dim", spec.latent.rope);
    set("v_head_dim", spec.latent.value);
  }
  return write_json(json);
}

// The routed Qwen 3 is of the family whose layers its are like.
std::string hf_type(const ZooEntry& entry) {
  if (entry.name == "kimi-k2") return "kimi_k2";
  const bool routed = entry.active_parameters != entry.parameters;
  return std::string(entry.family) + (entry.family == "qwen3" && routed ? "_moe" : "");
}

TEST(DecoderSpec, KeysOfAConfigGiveBackEveryModelOfTheZoo) {
  const std::set<std::string> line = {"llama",   "mistral",     "mixtral", "qwen2",
                                      "qwen3",   "gemma",       "phi3",    "qwen3_moe",
                                      "kimi_k2", "deepseek_v3", "olmo2"};
  std::set<std::string> met;
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const std::string type = hf_type(entry);
    if (line.count(type) == 0 || entry.name.starts_with("llama-4")) continue;
    met.insert(type);
    const Model model = zoo_model(entry.name);
    const Model again = import_hf_config(hf_config(type, *decoder_spec(model)), "c.json");
    EXPECT_EQ(parameters(again), parameters(model)) << entry.name;
    EXPECT_EQ(active_parameters(again), active_parameters(model)) << entry.name;
  }
  EXPECT_EQ(met, line);
}

TEST(DecoderSpec, ReadsTheNumbersOfAConfig) {
  const TransformerSpec spec = *decoder_spec(zoo_model("llama-3-70b"));
  EXPECT_EQ(spec.layers, 80);
  EXPECT_EQ(spec.hidden, 8192);
  EXPECT_EQ(spec.heads, 64);
  EXPECT_EQ(spec.kv_heads, 8);
  EXPECT_EQ(spec.head_dim, 128);
  EXPECT_EQ(spec.ffn, 28672);
  EXPECT_EQ(spec.vocab, 128256);
  EXPECT_EQ(spec.positions, Positions::Rotary);
  EXPECT_EQ(spec.norm, NormKind::Rms);
  EXPECT_EQ(spec.activation, Activation::GatedSilu);
  EXPECT_FALSE(spec.tied);
}

TEST(DecoderSpec, ReadsExpertsAndLatentAttention) {
  const TransformerSpec spec = *decoder_spec(zoo_model("deepseek-v3"));
  EXPECT_EQ(spec.experts.count, 256);
  EXPECT_EQ(spec.experts.top_k, 8);
  EXPECT_EQ(spec.experts.ffn, 2048);
  EXPECT_EQ(spec.experts.shared, 1);
  EXPECT_EQ(spec.experts.dense_layers, 3);
  EXPECT_TRUE(spec.experts.router_bias);
  EXPECT_EQ(spec.latent.q_rank, 1536);
  EXPECT_EQ(spec.latent.kv_rank, 512);
  EXPECT_EQ(spec.latent.nope, 128);
  EXPECT_EQ(spec.latent.rope, 64);
  EXPECT_EQ(spec.latent.value, 128);
}

TEST(DecoderSpec, HalvesOfABlockAreOneWhileTheyAreEqual) {
  const Model whole = zoo_model("gpt2"), halves = split_block(whole, 1, 5);
  ASSERT_EQ(halves.blocks.size(), whole.blocks.size() + 1);
  EXPECT_EQ(decoder_spec(halves)->layers, decoder_spec(whole)->layers);
  const Model edited = with_model_field(halves, {1, -1}, "ffn", "1536");
  EXPECT_FALSE(decoder_spec(edited));
}

}  // namespace
}  // namespace trainyard
