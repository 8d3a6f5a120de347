// This file lists what the vision towers of a family have in common, and the names of their parts.
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/model/zoo/vision.h"

namespace trainyard {
namespace {

ProjectorStep norm_step(std::string_view name, NormKind kind) {
  return {.kind = ProjectorStep::Kind::Norm, .name = name, .norm = kind};
}
ProjectorStep merge_step(std::int64_t side) {
  return {.kind = ProjectorStep::Kind::Merge, .size = side};
}
ProjectorStep product_step(std::string_view name, std::int64_t width, bool bias) {
  return {.kind = ProjectorStep::Kind::Product, .name = name, .size = width, .bias = bias};
}
constexpr ProjectorStep kGeluStep{.kind = ProjectorStep::Kind::Gelu};

// A tower's layers attend in both directions; what else they have is said below.
VisionSpec plain_tower(bool biases) {
  VisionSpec v;
  v.layers.names = {"",      "norm1",     "qkv", "q_proj", "k_proj", "v_proj", "out_proj",
                    "norm2", "gate_proj", "fc1", "fc2",    "",       ""};
  v.layers.positions = Positions::Alibi;  // which adds no node
  v.layers.qkv_bias = v.layers.out_bias = v.layers.mlp_bias = biases;
  return v;
}

// Radford et al., "CLIP", 2021; Liu et al., "LLaVA 1.5", 2023.
VisionSpec clip_tower() {
  VisionSpec v = plain_tower(true);
  v.layers.names.attention_norm = "layer_norm1";
  v.layers.names.mlp_norm = "layer_norm2";
  v.class_token = v.position_table = true;
  v.first_norm = "pre_layrnorm";
  v.projector = {product_step("linear_1", kDecoderWidth, true), kGeluStep,
                 product_step("linear_2", kDecoderWidth, true)};
  return v;
}

// Zhai et al., "SigLIP", 2023; Gemma Team, "Gemma 3", 2025.
VisionSpec siglip_tower() {
  VisionSpec v = clip_tower();
  v.class_token = false;
  v.patch_bias = true;
  v.first_norm = {};
  v.last_norm = "post_layernorm";
  v.projector = {{.kind = ProjectorStep::Kind::Average, .size = 4},
                 norm_step("mm_soft_emb_norm", NormKind::RmsUnitOffset),
                 product_step("mm_input_projection", kDecoderWidth, false)};
  return v;
}

// Agrawal et al., "Pixtral 12B", 2024; the projector is that of Mistral Small 3.1.
VisionSpec pixtral_tower() {
  VisionSpec v = plain_tower(false);
  v.layers.names.attention_norm = "attention_norm";
  v.layers.names.mlp_norm = "ffn_norm";
  v.layers.names.out = "o_proj";
  v.layers.names.up = "up_proj";
  v.layers.names.down = "down_proj";
  v.layers.norm = NormKind::Rms;
  v.layers.activation = Activation::GatedSilu;
  v.layers.positions = Positions::Rotary;
  v.first_norm = "ln_pre";
  v.projector = {norm_step("norm", NormKind::Rms),
                 merge_step(2),
                 product_step("merging_layer", kTowerWidth, false),
                 product_step("linear_1", kDecoderWidth, false),
                 kGeluStep,
                 product_step("linear_2", kDecoderWidth, false)};
  return v;
}

// Wang et al., "Qwen2-VL", 2024.
VisionSpec qwen2_vl_tower() {
  VisionSpec v = plain_tower(true);
  v.layers.names.out = "proj";
  v.layers.fused_qkv = true;
  v.layers.positions = Positions::Rotary;
  v.frames = 2;
  v.projector = {norm_step("ln_q", NormKind::Layer), merge_step(2),
                 product_step("mlp.0", kSameWidth, true), kGeluStep,
                 product_step("mlp.2", kDecoderWidth, true)};
  return v;
}

// Bai et al., "Qwen2.5-VL", 2025.
VisionSpec qwen2_5_vl_tower() {
  VisionSpec v = qwen2_vl_tower();
  v.layers.names.up = "up_proj";
  v.layers.names.down = "down_proj";
  v.layers.norm = NormKind::Rms;
  v.layers.activation = Activation::GatedSilu;
  v.window = 112;
  v.projector.front().norm = NormKind::Rms;
  return v;
}

// Meta, "Llama 4", 2025: Hugging Face's modeling_llama4.py.
VisionSpec llama4_tower() {
  VisionSpec v = plain_tower(true);
  v.layers.names.attention_norm = "input_layernorm";
  v.layers.names.mlp_norm = "post_attention_layernorm";
  v.layers.names.out = "o_proj";
  v.layers.positions = Positions::Rotary;
  v.class_token = v.position_table = true;
  v.first_norm = "layernorm_pre";
  v.last_norm = "layernorm_post";
  v.projector = {merge_step(2), product_step("fc1", 4096, false),
                 kGeluStep,     product_step("fc2", 4096, false),
                 kGeluStep,     product_step("linear_1", kDecoderWidth, false)};
  return v;
}

// Chen et al., "InternVL", 2023; Zhu et al., "InternVL3", 2025.
VisionSpec internvl_tower() {
  VisionSpec v = plain_tower(true);
  v.layers.names.attention_norm = "layernorm_before";
  v.layers.names.mlp_norm = "layernorm_after";
  v.layers.names.out = "projection_layer";
  v.layers.layer_scale = true;
  v.class_token = v.position_table = v.patch_bias = true;
  v.projector = {merge_step(2), norm_step("layer_norm", NormKind::Layer),
                 product_step("linear_1", kDecoderWidth, true), kGeluStep,
                 product_step("linear_2", kDecoderWidth, true)};
  return v;
}

struct NamedTower {
  const char* name;
  VisionSpec (*spec)();
};
constexpr NamedTower kTowers[] = {
    {"clip", clip_tower},         {"siglip", siglip_tower},         {"pixtral", pixtral_tower},
    {"qwen2_vl", qwen2_vl_tower}, {"qwen2_5_vl", qwen2_5_vl_tower}, {"llama4", llama4_tower},
    {"internvl", internvl_tower},
};

}  // namespace

const std::vector<std::string>& vision_families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const NamedTower& one : kTowers) list.emplace_back(one.name);
    return list;
  }();
  return names;
}

VisionSpec vision_family(std::string_view family) {
  for (const NamedTower& one : kTowers)
    if (family == one.name) {
      VisionSpec v = one.spec();
      v.layers.family = one.name;
      return v;
    }
  throw Error(Error::Kind::InvalidInput, "expected a family of vision towers, found \"" +
                                             std::string(family.substr(0, 60)) + "\"" +
                                             did_you_mean(family, vision_families()));
}

}  // namespace trainyard
