// This file lists what the members of each transformer family have in common, and the names of
// their parts.
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/model/zoo/builders.h"

namespace trainyard {
namespace {

constexpr LayerNames kLlamaNames{
    "embed_tokens", "input_layernorm",          "qkv_proj",  "q_proj",  "k_proj",    "v_proj",
    "o_proj",       "post_attention_layernorm", "gate_proj", "up_proj", "down_proj", "norm",
    "lm_head"};

TransformerSpec llama() {
  TransformerSpec spec;
  spec.names = kLlamaNames;
  spec.norm = NormKind::Rms;
  spec.activation = Activation::GatedSilu;
  spec.positions = Positions::Rotary;
  return spec;
}

TransformerSpec qwen2() {
  TransformerSpec spec = llama();
  spec.qkv_bias = true;
  return spec;
}

TransformerSpec qwen3() {
  TransformerSpec spec = llama();
  spec.head_norm = true;
  return spec;
}

TransformerSpec gemma() {
  TransformerSpec spec = llama();
  spec.norm = NormKind::RmsUnitOffset;
  spec.activation = Activation::GatedGelu;
  spec.tied = true;
  spec.scaled_embedding = true;
  return spec;
}

TransformerSpec gemma2() {
  TransformerSpec spec = gemma();
  spec.names.mlp_norm = "pre_feedforward_layernorm";
  spec.sandwich_norm = true;
  return spec;
}

TransformerSpec phi3() {
  TransformerSpec spec = llama();
  spec.fused_qkv = true;
  return spec;
}

TransformerSpec deepseek_v3() {
  TransformerSpec spec = llama();
  spec.experts.router_bias = true;
  return spec;
}

// Returns the spec from which the GPT-like families start: layer norms, biases everywhere, plain
// gelu.
TransformerSpec biased() {
  TransformerSpec spec;
  spec.qkv_bias = spec.out_bias = spec.mlp_bias = true;
  return spec;
}

TransformerSpec gpt2() {
  TransformerSpec spec = biased();
  spec.names = {
      "wte",  "ln_1", "attn.c_attn", "attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.c_proj",
      "ln_2", "",     "mlp.c_fc",    "mlp.c_proj",  "ln_f",        "lm_head"};
  spec.tied = spec.fused_qkv = true;
  spec.dropout = spec.attention_dropout = true;
  return spec;
}

TransformerSpec gpt_neox() {
  TransformerSpec spec = biased();
  spec.names = {"embed_in", "input_layernorm", "query_key_value", "q_proj",
                "k_proj",   "v_proj",          "dense",           "post_attention_layernorm",
                "",         "dense_h_to_4h",   "dense_4h_to_h",   "final_layer_norm",
                "embed_out"};
  spec.positions = Positions::Rotary;
  spec.fused_qkv = spec.parallel = true;
  return spec;
}

TransformerSpec phi() {
  TransformerSpec spec = biased();
  spec.names = {"embed_tokens", "input_layernorm", "qkv_proj",        "q_proj", "k_proj",
                "v_proj",       "dense",           "input_layernorm", "",       "fc1",
                "fc2",          "final_layernorm", "lm_head"};
  spec.positions = Positions::Rotary;
  spec.parallel = spec.one_norm = spec.head_bias = true;
  return spec;
}

TransformerSpec opt() {
  TransformerSpec spec = biased();
  spec.names = {
      "embed_tokens", "self_attn_layer_norm",   "qkv_proj", "q_proj", "k_proj", "v_proj",
      "out_proj",     "layer.final_layer_norm", "",         "fc1",    "fc2",    "final_layer_norm",
      "lm_head"};
  spec.activation = Activation::Relu;
  spec.position_offset = 2;
  spec.tied = spec.dropout = true;
  return spec;
}

TransformerSpec bloom() {
  TransformerSpec spec = biased();
  spec.names = {"word_embeddings",
                "input_layernorm",
                "query_key_value",
                "q_proj",
                "k_proj",
                "v_proj",
                "dense",
                "post_attention_layernorm",
                "",
                "dense_h_to_4h",
                "dense_4h_to_h",
                "ln_f",
                "lm_head"};
  spec.positions = Positions::Alibi;
  spec.tied = spec.fused_qkv = spec.embedding_norm = true;
  return spec;
}

TransformerSpec bert() {
  TransformerSpec spec = biased();
  spec.names = {"word_embeddings",
                "attention.output.LayerNorm",
                "",
                "query",
                "key",
                "value",
                "attention.output.dense",
                "output.LayerNorm",
                "",
                "intermediate.dense",
                "output.dense",
                "",
                "cls.predictions.decoder"};
  spec.token_types = 2;
  spec.post_norm = spec.embedding_norm = spec.dropout = spec.attention_dropout = true;
  spec.final_norm = false;
  return spec;
}

TransformerSpec vit() {
  TransformerSpec spec = biased();
  spec.names = {"",
                "layernorm_before",
                "",
                "query",
                "key",
                "value",
                "attention.output.dense",
                "layernorm_after",
                "",
                "intermediate.dense",
                "output.dense",
                "layernorm",
                "classifier"};
  return spec;
}

TransformerSpec t5() {
  TransformerSpec spec;
  spec.names = {"shared", "layer_norm",    "",     "q",  "k",  "v",
                "o",      "ff.layer_norm", "wi_0", "wi", "wo", "final_layer_norm",
                "lm_head"};
  spec.norm = NormKind::Rms;
  spec.activation = Activation::Relu;
  spec.positions = Positions::Relative;
  spec.tied = spec.dropout = spec.attention_dropout = true;
  return spec;
}

TransformerSpec transformer() {
  TransformerSpec spec = biased();
  spec.names = {"shared",   "attention_norm", "", "q_proj", "k_proj", "v_proj",
                "out_proj", "final_norm",     "", "fc1",    "fc2",    "",
                "output"};
  spec.activation = Activation::Relu;
  spec.positions = Positions::Sinusoidal;
  spec.tied = spec.post_norm = spec.dropout = spec.attention_dropout = true;
  spec.final_norm = false;
  return spec;
}

TransformerSpec gpt_oss() {
  TransformerSpec spec = llama();
  spec.qkv_bias = spec.out_bias = spec.sinks = true;
  spec.experts.router_bias = spec.experts.bias = true;
  return spec;
}

TransformerSpec gemma3() {
  TransformerSpec spec = gemma2();
  spec.head_norm = true;
  return spec;
}

TransformerSpec glm4() {
  TransformerSpec spec = qwen2();
  spec.names.mlp_norm = "pre_feedforward_layernorm";
  spec.sandwich_norm = true;
  return spec;
}

TransformerSpec glm4_moe() {
  TransformerSpec spec = qwen2();
  spec.experts.router_bias = true;
  return spec;
}

TransformerSpec olmo2() {
  TransformerSpec spec = llama();
  spec.names.attention_norm = "post_attention_layernorm";
  spec.names.mlp_norm = "post_feedforward_layernorm";
  spec.reordered_norm = spec.wide_head_norm = true;
  return spec;
}

TransformerSpec falcon() {
  TransformerSpec spec = bloom();
  spec.qkv_bias = spec.out_bias = spec.mlp_bias = spec.embedding_norm = spec.fused_qkv = false;
  spec.positions = Positions::Rotary;
  return spec;
}

TransformerSpec starcoder2() {
  TransformerSpec spec = biased();
  spec.names = kLlamaNames;
  spec.names.up = "c_fc", spec.names.down = "c_proj";
  spec.positions = Positions::Rotary;
  return spec;
}

TransformerSpec cohere() {
  TransformerSpec spec = llama();
  spec.norm = NormKind::LayerWithoutBias;
  spec.parallel = spec.one_norm = spec.tied = true;
  return spec;
}

TransformerSpec nemotron() {
  TransformerSpec spec = llama();
  spec.norm = NormKind::Layer;
  spec.activation = Activation::SquaredRelu;
  return spec;
}

TransformerSpec dbrx() {
  TransformerSpec spec = llama();
  spec.norm = NormKind::LayerWithoutBias;
  return spec;
}

// Layers of one part each, which have one norm.
TransformerSpec mamba2() {
  TransformerSpec spec = llama();
  spec.names.attention_norm = "norm";
  spec.names.final_norm = "norm_f";
  spec.mixer = Mixer::StateSpace;
  spec.feed_forward = false;
  return spec;
}

TransformerSpec nemotron_h() {
  TransformerSpec spec = mamba2();
  spec.positions = Positions::Alibi;  // none, and no node
  spec.activation = Activation::SquaredRelu;
  return spec;
}

TransformerSpec qwen3_next() {
  TransformerSpec spec = qwen3();
  spec.norm = NormKind::RmsUnitOffset;
  spec.attention_gate = spec.experts.shared_gate = true;
  return spec;
}

struct NamedFamily {
  std::string_view name;
  TransformerSpec (*spec)();
};

constexpr NamedFamily kFamilies[] = {
    {"llama", llama},
    {"mistral", llama},
    {"mixtral", llama},
    {"qwen2", qwen2},
    {"qwen3", qwen3},
    {"gemma", gemma},
    {"gemma2", gemma2},
    {"phi", phi},
    {"phi3", phi3},
    {"gpt2", gpt2},
    {"gpt_neox", gpt_neox},
    {"opt", opt},
    {"bloom", bloom},
    {"bert", bert},
    {"vit", vit},
    {"t5", t5},
    {"transformer", transformer},
    {"deepseek_v3", deepseek_v3},
    {"gpt_oss", gpt_oss},
    {"gemma3", gemma3},
    {"glm4", glm4},
    {"glm4_moe", glm4_moe},
    {"olmo2", olmo2},
    {"falcon", falcon},
    {"starcoder2", starcoder2},
    {"cohere", cohere},
    {"nemotron", nemotron},
    {"dbrx", dbrx},
    {"mamba2", mamba2},
    {"nemotron_h", nemotron_h},
    {"qwen3_next", qwen3_next},
};

}  // namespace

const std::vector<std::string>& transformer_families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const NamedFamily& family : kFamilies) list.emplace_back(family.name);
    return list;
  }();
  return names;
}

TransformerSpec family_spec(std::string_view family) {
  for (const NamedFamily& known : kFamilies) {
    if (known.name != family) continue;
    TransformerSpec spec = known.spec();
    spec.family = family;
    return spec;
  }
  throw Error(Error::Kind::InvalidInput, "expected a family of transformers, found \"" +
                                             std::string(family) + "\"" +
                                             did_you_mean(family, transformer_families()));
}

}  // namespace trainyard
