// The readers of configs of dense transformers since 2023 whose layers differ from Llama's: Gemma
// 3, GLM-4, OLMo 2, Falcon, Cohere and others.
#include "core/io/models/hf_readers.h"

namespace trainyard {
namespace {

// Layers between every n-th slide, where the config names a window.
std::vector<LayerKind> all_but_every(HfFields& f, std::int64_t layers, std::int64_t n,
                                     std::int64_t window) {
  return hf_windows(f, layers, window, [n](std::int64_t i) { return (i + 1) % n != 0; });
}

std::int64_t window_every(HfFields& f, std::int64_t usual) {
  return f.size({"sliding_window_pattern", "_sliding_window_pattern"}, usual, 1, kMostHfLayers);
}

Model gemma3(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "gemma3", {262208, 2304, 9216, 26, 8, 4, 256, 131072, true});
  spec.activation =
      hf_activation(f, {"hidden_activation", "hidden_act"}, "gelu_pytorch_tanh", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.pattern =
      all_but_every(f, spec.layers, window_every(f, 6), f.size({"sliding_window"}, 4096));
  return build_decoder(spec);
}

Model glm(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "qwen2", {151552, 4096, 13696, 40, 32, 2, 128, 131072, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = f.flag("attention_bias", true);
  return build_decoder(spec);
}

Model glm4(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "glm4", {151552, 4096, 13696, 40, 32, 2, 128, 131072, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = f.flag("attention_bias", true);
  return build_decoder(spec);
}

Model olmo2(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "olmo2", {50304, 4096, 11008, 32, 32, 0, 0, 2048, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  return build_decoder(spec);
}

Model olmo3(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "olmo2", {50304, 4096, 11008, 32, 32, 0, 0, 2048, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.pattern = all_but_every(f, spec.layers, 4, f.size({"sliding_window"}, 4096));
  return build_decoder(spec);
}

// Falcon 7B has one norm for both parts and one key head; its new decoder has a norm for each part
// and several key heads; Falcon RW has position biases and parts one after the other.
Model falcon(HfFields& f) {
  TransformerSpec spec = hf_sizes(f, "falcon", {65024, 4544, 0, 32, 71, 0, 0, 2048, true});
  if (f.find({"ffn_hidden_size"})) spec.ffn = f.size({"ffn_hidden_size"}, 4 * spec.hidden);
  const bool renewed = f.flag("new_decoder_architecture", false);
  const bool one_key = f.flag("multi_query", true);
  const bool parallel = f.flag("parallel_attn", true);
  if (renewed)
    spec.kv_heads =
        f.optional_size({"num_kv_heads", "n_head_kv"}, spec.heads, "as many as attention heads");
  else
    spec.kv_heads = one_key ? 1 : spec.heads;
  expect_hf_heads(f, spec, false);
  spec.tied = f.flag("tie_word_embeddings", true);
  spec.qkv_bias = spec.out_bias = spec.mlp_bias = f.flag("bias", false);
  if (f.flag("alibi", false)) spec.positions = Positions::Alibi;
  spec.parallel = renewed || parallel;
  const std::int64_t norms = f.optional_size({"num_ln_in_parallel_attn"}, renewed ? 2 : 1,
                                             renewed ? "2, as the new decoder has" : "");
  spec.one_norm = spec.parallel && norms == 1;
  spec.dropout = f.drops({"hidden_dropout"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model starcoder2(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "starcoder2", {49152, 3072, 12288, 30, 24, 2, 0, 4096, true});
  spec.activation = hf_activation(f, {"hidden_act"}, "gelu_pytorch_tanh", false);
  spec.qkv_bias = spec.out_bias = spec.mlp_bias = f.flag("use_bias", true);
  spec.window = f.optional_size({"sliding_window"}, 0, "");
  spec.dropout = f.drops({"residual_dropout"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model granite(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "llama", {32000, 4096, 11008, 32, 32, 0, 0, 2048, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.mlp_bias = f.flag("mlp_bias", false);
  return build_decoder(spec);
}

Model cohere(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "cohere", {256000, 8192, 22528, 40, 64, 0, 0, 8192, true});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.wide_head_norm = f.flag("use_qk_norm", false);
  return build_decoder(spec);
}

// Layers that attend to the whole sequence know no positions.
Model cohere2(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "cohere", {256000, 8192, 22528, 40, 64, 0, 0, 8192, true});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.pattern =
      all_but_every(f, spec.layers, window_every(f, 4), f.size({"sliding_window"}, 4096));
  for (LayerKind& kind : spec.pattern) kind.rotary = kind.window > 0;
  return build_decoder(spec);
}

Model ministral(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "mistral", {32000, 4096, 14336, 32, 32, 8, 0, 131072, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  if (f.find({"layer_types"}))
    spec.pattern = hf_windows(f, spec.layers, f.size({"sliding_window"}, 4096),
                              [](std::int64_t) { return true; });
  else
    spec.window = f.optional_size({"sliding_window"}, 0, "");
  return build_decoder(spec);
}

Model nemotron(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "nemotron", {256000, 6144, 24576, 32, 48, 0, 0, 4096, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "relu2", false);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.mlp_bias = f.flag("mlp_bias", false);
  spec.dropout = f.drops({"hidden_dropout"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model seed_oss(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "qwen2", {155136, 4096, 27648, 64, 80, 8, 128, 524288, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = f.flag("attention_bias", true);
  spec.out_bias = f.flag("attention_out_bias", false);
  spec.mlp_bias = f.flag("mlp_bias", false);
  spec.dropout = f.drops({"residual_dropout"}, 0.1);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.1);
  return build_decoder(spec);
}

Model smollm3(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "llama", {128256, 2048, 11008, 36, 16, 4, 0, 32768, true});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.mlp_bias = f.flag("mlp_bias", false);
  const std::int64_t every = f.size({"no_rope_layer_interval"}, 4, 1, kMostHfLayers);
  for (std::int64_t i = 0; i < spec.layers; ++i)
    spec.pattern.push_back({.rotary = (i + 1) % every != 0});
  return build_decoder(spec);
}

constexpr HfReader kDense[] = {
    {"gemma3_text", gemma3},
    {"glm", glm},
    {"glm4", glm4},
    {"olmo2", olmo2},
    {"olmo3", olmo3},
    {"falcon", falcon},
    {"starcoder2", starcoder2},
    {"granite", granite},
    {"cohere", cohere},
    {"cohere2", cohere2},
    {"ministral", ministral},
    {"ministral3", ministral},
    {"nemotron", nemotron},
    {"seed_oss", seed_oss},
    {"smollm3", smollm3},
};

}  // namespace

std::span<const HfReader> hf_dense() { return kDense; }

}  // namespace trainyard
