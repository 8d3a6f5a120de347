// Public configs of vision-language models have the exact counts of their checkpoints: tower,
// projector and decoder (Hugging Face's totals of the safetensors; the layers are those of
// transformers' modeling files).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/io/models/hf_config_import.h"
#include "core/model/fields.h"
#include "core/model/images.h"
#include "core/model/ops.h"
#include "core/model/patch_grid.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

struct PublishedVision {
  const char* name;
  std::int64_t parameters;
  std::int64_t unread;  // of them, those of layers and norms that give the projector nothing
  std::int64_t tokens;  // of one image in the decoder's sequence
  const char* config;
};

#define TRAINYARD_QWEN2_TOWER                                                          \
  R"("depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "in_chans": 3,)" \
  R"("patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14, "temporal_patch_size": 2)"
#define TRAINYARD_QWEN25_TOWER                                                            \
  R"("depth": 32, "hidden_act": "silu", "hidden_size": 1280, "intermediate_size": 3420,)" \
  R"("num_heads": 16, "in_chans": 3, "patch_size": 14, "spatial_merge_size": 2,)"         \
  R"("window_size": 112, "fullatt_block_indexes": [7, 15, 23, 31], "temporal_patch_size": 2)"
#define TRAINYARD_SIGLIP                                                                        \
  R"("vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304,)"     \
  R"("model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27,)" \
  R"("patch_size": 14, "vision_use_head": false}, "mm_tokens_per_image": 256)"
#define TRAINYARD_LLAMA4_TOWER                                                                \
  R"("vision_config": {"hidden_size": 1408, "image_size": 336, "intermediate_size": 5632,)"   \
  R"("num_attention_heads": 16, "num_hidden_layers": 34, "patch_size": 14,)"                  \
  R"("projector_input_dim": 4096, "projector_output_dim": 4096, "pixel_shuffle_ratio": 0.5,)" \
  R"("vision_output_dim": 4096})"

// The decoders are those of Qwen 2.5 with fewer rows in their tables; the towers are InternViT-300M
// and InternViT-6B. The checkpoints of InternVL 2.5 with 1, 38 and 78 billion parameters have the
// same counts, which are in the metadata of their files.
#define TRAINYARD_INTERN_300M                                                                      \
  R"("vision_config": {"model_type": "internvl_vision", "attention_bias": true,)"                  \
  R"("hidden_size": 1024, "image_size": [448, 448], "intermediate_size": 4096,)"                   \
  R"("norm_type": "layer_norm", "num_attention_heads": 16, "num_hidden_layers": 24,)"              \
  R"("patch_size": [14, 14], "use_absolute_position_embeddings": true, "use_mean_pooling": true,)" \
  R"("use_qk_norm": false}, "downsample_ratio": 0.5, "vision_feature_layer": -1)"
#define TRAINYARD_INTERN_6B                                                                        \
  R"("vision_config": {"model_type": "internvl_vision", "attention_bias": false,)"                 \
  R"("hidden_size": 3200, "image_size": [448, 448], "intermediate_size": 12800,)"                  \
  R"("norm_type": "rms_norm", "num_attention_heads": 25, "num_hidden_layers": 45,)"                \
  R"("patch_size": [14, 14], "use_absolute_position_embeddings": true, "use_mean_pooling": true,)" \
  R"("use_qk_norm": true}, "downsample_ratio": 0.5, "vision_feature_layer": -1)"

constexpr std::int64_t kClipLayer =
    4 * (1024 * 1024 + 1024) + 2 * 1024 * 4096 + 4096 + 1024 + 4 * 1024;

const PublishedVision kPublishedVision[] = {
    {"llava-hf/llava-1.5-7b-hf", 7063427072, kClipLayer + 2 * 1024, 576,
     R"({"model_type": "llava", "vision_feature_layer": -2,
         "vision_feature_select_strategy": "default",
         "text_config": {"model_type": "llama", "max_position_embeddings": 4096,
                         "vocab_size": 32064},
         "vision_config": {"hidden_size": 1024, "image_size": 336, "intermediate_size": 4096,
                           "model_type": "clip_vision_model", "num_attention_heads": 16,
                           "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768}})"},
    {"Qwen/Qwen2-VL-2B-Instruct", 2208985600, 0, 256,
     R"({"model_type": "qwen2_vl", "hidden_size": 1536, "intermediate_size": 8960,
         "num_attention_heads": 12, "num_hidden_layers": 28, "num_key_value_heads": 2,
         "tie_word_embeddings": true, "vocab_size": 151936,
         "vision_config": {"hidden_size": 1536, )" TRAINYARD_QWEN2_TOWER "}}"},
    {"Qwen/Qwen2-VL-7B-Instruct", 8291375616, 0, 256,
     R"({"model_type": "qwen2_vl", "hidden_size": 3584, "intermediate_size": 18944,
         "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
         "tie_word_embeddings": false, "vocab_size": 152064,
         "vision_config": {"hidden_size": 3584, )" TRAINYARD_QWEN2_TOWER "}}"},
    {"Qwen/Qwen2.5-VL-3B-Instruct", 3754622976, 0, 256,
     R"({"model_type": "qwen2_5_vl", "hidden_size": 2048, "intermediate_size": 11008,
         "num_attention_heads": 16, "num_hidden_layers": 36, "num_key_value_heads": 2,
         "tie_word_embeddings": true, "vocab_size": 151936,
         "vision_config": {"out_hidden_size": 2048, )" TRAINYARD_QWEN25_TOWER "}}"},
    {"Qwen/Qwen2.5-VL-7B-Instruct", 8292166656, 0, 256,
     R"({"model_type": "qwen2_5_vl", "text_config": {"model_type": "qwen2_5_vl_text",
         "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28,
         "num_hidden_layers": 28, "num_key_value_heads": 4, "tie_word_embeddings": false,
         "vocab_size": 152064},
         "vision_config": {"out_hidden_size": 3584, )" TRAINYARD_QWEN25_TOWER "}}"},
    {"google/gemma-3-4b-it", 4300079472, 0, 256,
     R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
         "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}, )" TRAINYARD_SIGLIP
     "}"},
    {"google/gemma-3-12b-it", 12187325040, 0, 256,
     R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 3840,
         "intermediate_size": 15360, "num_hidden_layers": 48, "num_attention_heads": 16,
         "num_key_value_heads": 8, "sliding_window": 1024}, )" TRAINYARD_SIGLIP "}"},
    {"google/gemma-3-27b-it", 27432406640, 0, 256,
     R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376,
         "intermediate_size": 21504, "num_hidden_layers": 62, "num_attention_heads": 32,
         "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024}, )" TRAINYARD_SIGLIP
     "}"},
    {"mistralai/Mistral-Small-3.1-24B-Instruct-2503", 24011361280, 0, 55 * 55,
     R"({"model_type": "mistral3", "multimodal_projector_bias": false, "spatial_merge_size": 2,
         "vision_feature_layer": -1,
         "text_config": {"model_type": "mistral", "hidden_size": 5120, "head_dim": 128,
                         "intermediate_size": 32768, "num_attention_heads": 32,
                         "num_hidden_layers": 40, "num_key_value_heads": 8,
                         "vocab_size": 131072},
         "vision_config": {"model_type": "pixtral", "hidden_size": 1024, "head_dim": 64,
                           "image_size": 1540, "intermediate_size": 4096,
                           "num_attention_heads": 16, "num_hidden_layers": 24,
                           "patch_size": 14}})"},
    {"meta-llama/Llama-4-Scout-17B-16E", 108641793536, 0, 144,
     R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text"}, )" TRAINYARD_LLAMA4_TOWER
     "}"},
    {"meta-llama/Llama-4-Maverick-17B-128E", 401583781376, 0, 144,
     R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text",
         "num_local_experts": 128, "interleave_moe_layer_step": 2}, )" TRAINYARD_LLAMA4_TOWER "}"},
    {"google/paligemma-3b-pt-224", 2923466480, 0, 256,
     R"({"model_type": "paligemma", "text_config": {"model_type": "gemma", "hidden_size": 2048,
         "intermediate_size": 16384, "num_attention_heads": 8, "num_hidden_layers": 18,
         "num_key_value_heads": 1, "vocab_size": 257216},
         "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152,
         "intermediate_size": 4304, "num_attention_heads": 16, "num_hidden_layers": 27,
         "patch_size": 14, "vision_use_head": false}})"},
    {"OpenGVLab/InternVL3-1B-hf", 938193024, 0, 256,
     R"({"model_type": "internvl", "text_config": {"model_type": "qwen2", "hidden_size": 896,
         "intermediate_size": 4864, "num_attention_heads": 14, "num_hidden_layers": 24,
         "num_key_value_heads": 2, "tie_word_embeddings": false, "vocab_size": 151674},
         )" TRAINYARD_INTERN_300M "}"},
    {"OpenGVLab/InternVL3-2B-hf", 2088957440, 0, 256,
     R"({"model_type": "internvl", "text_config": {"model_type": "qwen2", "hidden_size": 1536,
         "intermediate_size": 8960, "num_attention_heads": 12, "num_hidden_layers": 28,
         "num_key_value_heads": 2, "tie_word_embeddings": false, "vocab_size": 151674},
         )" TRAINYARD_INTERN_300M "}"},
    {"OpenGVLab/InternVL3-8B-hf", 7944373760, 0, 256,
     R"({"model_type": "internvl", "text_config": {"model_type": "qwen2", "hidden_size": 3584,
         "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28,
         "num_key_value_heads": 4, "tie_word_embeddings": false, "vocab_size": 151674},
         )" TRAINYARD_INTERN_300M "}"},
    {"OpenGVLab/InternVL3-38B-hf", 38388164992, 0, 256,
     R"({"model_type": "internvl", "text_config": {"model_type": "qwen2", "hidden_size": 5120,
         "intermediate_size": 27648, "num_attention_heads": 40, "num_hidden_layers": 64,
         "num_key_value_heads": 8, "tie_word_embeddings": false, "vocab_size": 151674},
         )" TRAINYARD_INTERN_6B "}"},
    {"OpenGVLab/InternVL3-78B-hf", 78408318336, 0, 256,
     R"({"model_type": "internvl", "text_config": {"model_type": "qwen2", "hidden_size": 8192,
         "intermediate_size": 29568, "num_attention_heads": 64, "num_hidden_layers": 80,
         "num_key_value_heads": 8, "tie_word_embeddings": false, "vocab_size": 151674},
         )" TRAINYARD_INTERN_6B "}"},
};

Model read(const PublishedVision& row) { return import_hf_config(row.config, "c.json"); }

const PublishedVision& named(std::string_view name) {
  for (const PublishedVision& row : kPublishedVision)
    if (name == row.name) return row;
  ADD_FAILURE() << name;
  return kPublishedVision[0];
}

TEST(HfVision, EveryConfigHasThePublishedCount) {
  std::size_t rows = 0;
  for (const PublishedVision& row : testing::non_empty(kPublishedVision)) {
    const Model model = read(row);
    EXPECT_EQ(parameters(model), row.parameters - row.unread) << row.name;
    EXPECT_EQ(tokens_of_images(model), row.tokens) << row.name;
    ++rows;
  }
  EXPECT_EQ(rows, 17u);
}

TEST(HfVision, ConfigsAndZooHaveTheSameBlocks) {
  const std::pair<const char*, const char*> same[] = {
      {"llava-hf/llava-1.5-7b-hf", "llava-1.5-7b"},
      {"Qwen/Qwen2-VL-7B-Instruct", "qwen2-vl-7b"},
      {"Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b"},
      {"mistralai/Mistral-Small-3.1-24B-Instruct-2503", "mistral-small-3.1-24b"}};
  for (const auto& [config, zoo] : same) {
    const Model a = read(named(config)), b = zoo_model(zoo);
    ASSERT_EQ(a.blocks.size(), b.blocks.size()) << zoo;
    for (std::size_t i = 0; i < a.blocks.size(); ++i) {
      EXPECT_EQ(a.blocks[i].name, b.blocks[i].name) << zoo;
      EXPECT_EQ(a.blocks[i].count, b.blocks[i].count) << zoo;
      EXPECT_EQ(parameters(a.blocks[i]), parameters(b.blocks[i])) << zoo << a.blocks[i].name;
    }
  }
}

// The forward work of a block's attention for one sample, in multiply-adds of two.
double attention_flops(const Model& model, std::string_view block) {
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    if (model.blocks[b].name != block) continue;
    const Graph& graph = model.blocks[b].graph;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (graph.nodes[n].op == &attention())
        return part_cost(model, {static_cast<int>(b), static_cast<int>(n)}, Binding{1, 4096},
                         Precision{})
            .forward.value;
  }
  ADD_FAILURE() << block;
  return 0;
}

// An image of 448 x 448 is 1024 patches, and a window 64; two images do not attend to each other.
TEST(HfVision, WindowsAndImagesAttendToThemselvesAlone) {
  const PublishedVision& qwen = named("Qwen/Qwen2.5-VL-7B-Instruct");
  const Model model = read(qwen), two = with_images(model, 2, 0),
              larger = with_images(model, 0, 896);
  const double pair = 2.0 * 1280 * 2;  // two products of all heads for a query and a key
  EXPECT_EQ(attention_flops(model, "vision_layers.0"), pair * 1024 * 64);
  EXPECT_EQ(attention_flops(model, "vision_layers.7"), pair * 1024 * 1024);
  EXPECT_EQ(attention_flops(two, "vision_layers.7"), pair * 2 * 1024 * 1024);
  EXPECT_EQ(attention_flops(larger, "vision_layers.7"), pair * 4096 * 4096);
  EXPECT_EQ(attention_flops(larger, "vision_layers.0"), pair * 4096 * 64);
  EXPECT_EQ(tokens_of_images(two), 2 * 256);
  EXPECT_EQ(tokens_of_images(larger), 4 * 256);
  EXPECT_EQ(parameters(larger), parameters(model));
  const double decoder = attention_flops(model, "layers");
  EXPECT_EQ(attention_flops(two, "layers"), decoder);
}

// SigLIP so400m in front of LLaVA's decoder: 384 pixels are 27 whole patches of 14, all 729 of
// which the decoder reads, and the last of 27 layers is left out.
TEST(HfVision, LlavaReadsTheTowerOfSigLip) {
  const Model model = import_hf_config(
      R"({"model_type": "llava", "vision_feature_select_strategy": "full",
          "vision_feature_layer": -2,
          "text_config": {"model_type": "llama", "hidden_size": 896, "num_attention_heads": 14},
          "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152,
                            "image_size": 384, "intermediate_size": 4304,
                            "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14,
                            "vision_use_head": false}})",
      "c.json");
  constexpr std::int64_t kHidden = 1152, kInner = 4304, kDecoder = 896;
  const std::map<std::string, std::int64_t> wanted = {
      {"vision_embedding", 3 * 14 * 14 * kHidden + kHidden + 27 * 27 * kHidden},
      {"vision_layers", 26 * (4 * (kHidden * kHidden + kHidden) + 2 * kHidden * kInner + kInner +
                              kHidden + 4 * kHidden)},
      {"projector", kHidden * kDecoder + kDecoder + kDecoder * kDecoder + kDecoder}};
  std::size_t found = 0;
  for (const Block& block : model.blocks)
    if (const auto one = wanted.find(block.name); one != wanted.end()) {
      EXPECT_EQ(parameters(block) * block.count, one->second) << block.name;
      ++found;
    }
  EXPECT_EQ(found, wanted.size());
  EXPECT_EQ(tokens_of_images(model), 27 * 27);
}

TEST(HfVision, WhatIsAssumedAndLeftOutIsSaid) {
  const auto says = [](const Model& model, const std::string& sentence) {
    return std::find(model.assumed.begin(), model.assumed.end(), sentence) != model.assumed.end();
  };
  EXPECT_TRUE(says(read(named("llava-hf/llava-1.5-7b-hf")),
                   "the projector reads the output of layer 23 of the 24 of the vision tower: what "
                   "is behind it gives nothing and is left out"));
  EXPECT_TRUE(says(read(named("Qwen/Qwen2-VL-7B-Instruct")),
                   "the size of images is not in the file: 448 x 448"));
  EXPECT_TRUE(says(read(named("google/gemma-3-4b-it")),
                   "the decoder counts as causal for images too, whose tokens attend to later ones "
                   "of their image"));
  // LLaVA's usual choice leaves out a class token, which this tower does not have.
  const Model text = import_hf_config(R"({"model_type": "llava", "vision_config": {
      "model_type": "siglip_vision_model", "num_hidden_layers": 27},
      "text_config": {"model_type": "llama"}})",
                                      "c.json");
  EXPECT_EQ(tokens_of_images(text), 0);
  EXPECT_TRUE(
      says(text,
           "only the language part of a larger model is read: its vision tower of 27 layers "
           "is left out"));
}

TEST(HfVision, WrongTowersEarnTheirSentence) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"model_type": "qwen2_vl", "hidden_size": 64, "num_attention_heads": 8,
           "vision_config": {"hidden_size": 128}})",
       "c.json#/vision_config/hidden_size: expected the decoder's width 64, found 128"},
      {R"({"model_type": "qwen2_5_vl", "vision_config": {"out_hidden_size": 8192,
           "hidden_size": 1280, "window_size": 100}})",
       "c.json#/vision_config: c: expected a window of whole patches of 14 pixels, found 100"},
      {R"({"model_type": "qwen2_5_vl", "vision_config": {"out_hidden_size": 8192,
           "hidden_size": 1280, "fullatt_block_indexes": [32]}})",
       "c.json#/vision_config/fullatt_block_indexes/0: expected a whole number from 0 to 31, found "
       "32"},
      {R"({"model_type": "llava", "vision_feature_layer": -30, "vision_config": {},
           "text_config": {"model_type": "llama"}})",
       "c.json#/vision_feature_layer: expected a whole number from -12 to 12, found -30"},
      {R"({"model_type": "gemma3", "mm_tokens_per_image": 250, "text_config": {
           "model_type": "gemma3_text"}, "vision_config": {"image_size": 896, "patch_size": 14}})",
       "c.json#/mm_tokens_per_image: expected a square of a side that divides the 64 patches along "
       "an image, found 250"},
      {R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text"},
           "vision_config": {"pixel_shuffle_ratio": 0.25}})",
       "c.json#/vision_config/pixel_shuffle_ratio: expected a pixel shuffle of two by two patches, "
       "which is the ratio 0.5"},
      {R"({"model_type": "llava", "vision_config": {"num_attention_heads": 7},
           "text_config": {"model_type": "llama"}})",
       "c.json#/vision_config/num_attention_heads: expected attention heads that divide the hidden "
       "size 768, found 7"},
      {R"({"model_type": "llava", "vision_config": {"image_size": 225},
           "text_config": {"model_type": "llama"}})",
       "c.json#/vision_config: c: expected images whose side is a multiple of 32 pixels, as "
       "patches, merged patches and windows are, found 225; the nearest is 224"},
  };
  for (const auto& [config, sentence] : wrong)
    EXPECT_EQ(testing::refusal([config = config] { import_hf_config(config, "c.json"); }),
              sentence);
}

}  // namespace
}  // namespace trainyard
