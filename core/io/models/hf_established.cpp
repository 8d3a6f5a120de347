// The readers of configs of dense transformers up to 2024: Llama, GPT, OPT, BERT, T5, ViT and
// others.
#include "core/io/models/hf_readers.h"

#include <algorithm>

namespace trainyard {
namespace {

Model llama(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "llama", {32000, 4096, 11008, 32, 32, 0, 0, 2048, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.mlp_bias = f.flag("mlp_bias", false);
  return build_decoder(spec);
}

Model mistral(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "mistral", {32000, 4096, 14336, 32, 32, 8, 0, 131072, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.window = f.optional_size({"sliding_window"}, 0, "");
  return build_decoder(spec);
}

Model qwen2(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "qwen2", {151936, 4096, 22016, 32, 32, 32, 0, 32768, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  if (f.find({"use_sliding_window"}) && f.flag("use_sliding_window", false))
    spec.window = f.optional_size({"sliding_window"}, 4096, "4096, the default of qwen2");
  return build_decoder(spec);
}

// The text part of Qwen2-VL and Qwen2.5-VL, whose configs have its keys at the root or in an object
// of their own.
Model qwen2_vl(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "qwen2", {152064, 8192, 29568, 80, 64, 8, 0, 32768, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  if (f.find({"use_sliding_window"}) && f.flag("use_sliding_window", false))
    spec.window = f.optional_size({"sliding_window"}, 4096, "4096, the default of qwen2_vl");
  return build_decoder(spec);
}

Model qwen3(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "qwen3", {151936, 4096, 22016, 32, 32, 32, 128, 32768, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  return build_decoder(spec);
}

Model gemma(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "gemma", {256000, 3072, 24576, 28, 16, 16, 256, 8192, true});
  spec.activation =
      hf_activation(f, {"hidden_activation", "hidden_act"}, "gelu_pytorch_tanh", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  return build_decoder(spec);
}

Model gemma2(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "gemma2", {256000, 2304, 9216, 26, 8, 4, 256, 8192, true});
  spec.activation =
      hf_activation(f, {"hidden_activation", "hidden_act"}, "gelu_pytorch_tanh", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.pattern = hf_windows(f, spec.layers, f.size({"sliding_window"}, 4096),
                            [](std::int64_t i) { return i % 2 == 0; });
  return build_decoder(spec);
}

Model phi(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "phi", {51200, 2048, 8192, 24, 32, 0, 0, 2048, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "gelu_new", false);
  spec.dropout = f.drops({"resid_pdrop"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  if (const auto normed = f.find({"qk_layernorm"}); normed && normed->boolean())
    normed->refuse("expected false, found true: norms of queries and keys are not known for phi");
  return build_decoder(spec);
}

Model phi3(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "phi3", {32064, 3072, 8192, 32, 32, 0, 0, 4096, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.window = f.optional_size({"sliding_window"}, 0, "");
  spec.dropout = f.drops({"resid_pdrop"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model gpt2(HfFields& f) {
  TransformerSpec spec = hf_sizes(f, "gpt2", {50257, 768, 0, 12, 12, 0, 0, 1024, true});
  expect_hf_heads(f, spec, false);
  spec.tied = f.flag("tie_word_embeddings", true);
  spec.activation = hf_activation(f, {"activation_function"}, "gelu_new", false);
  spec.dropout = f.drops({"resid_pdrop"}, 0.1);
  spec.attention_dropout = f.drops({"attn_pdrop"}, 0.1);
  return build_decoder(spec);
}

Model gpt_neox(HfFields& f) {
  TransformerSpec spec = hf_sizes(f, "gpt_neox", {50432, 6144, 24576, 44, 64, 0, 0, 2048, false});
  expect_hf_heads(f, spec, false);
  spec.tied = f.flag("tie_word_embeddings", false);
  spec.parallel = f.flag("use_parallel_residual", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", true);
  spec.activation = hf_activation(f, {"hidden_act"}, "gelu", false);
  spec.dropout = f.drops({"hidden_dropout"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model opt(HfFields& f) {
  TransformerSpec spec = hf_sizes(f, "opt", {50272, 768, 3072, 12, 12, 0, 0, 2048, true});
  expect_hf_heads(f, spec, false);
  spec.tied = f.flag("tie_word_embeddings", true);
  spec.post_norm = !f.flag("do_layer_norm_before", true);
  const auto removed = f.find({"_remove_final_layer_norm"});
  spec.final_norm = !spec.post_norm && !(removed && removed->boolean());
  spec.embedding_width = f.optional_size({"word_embed_proj_dim"}, spec.hidden, "the hidden size");
  spec.qkv_bias = spec.out_bias = spec.mlp_bias = f.flag("enable_bias", true);
  spec.activation = hf_activation(f, {"activation_function"}, "relu", false);
  spec.dropout = f.drops({"dropout"}, 0.1);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model bloom(HfFields& f) {
  TransformerSpec spec = hf_sizes(f, "bloom", {250880, 64, 0, 2, 8, 0, 0, 0, true});
  expect_hf_heads(f, spec, false);
  spec.sequence =
      f.optional_size({"seq_length"}, 2048, "2048, what the published models were trained with");
  spec.tied = f.flag("tie_word_embeddings", true);
  spec.dropout = f.drops({"hidden_dropout"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model bert(HfFields& f) {
  TransformerSpec spec = hf_sizes(f, "bert", {30522, 768, 3072, 12, 12, 0, 0, 512, true});
  expect_hf_heads(f, spec, false);
  spec.token_types = f.size({"type_vocab_size"}, 2);
  spec.activation = hf_activation(f, {"hidden_act"}, "gelu", false);
  spec.dropout = f.drops({"hidden_dropout_prob"}, 0.1);
  spec.attention_dropout = f.drops({"attention_probs_dropout_prob"}, 0.1);
  const std::string head = hf_architecture(f);
  if (head == "BertForMaskedLM") return build_encoder(spec, EncoderHead::MaskedTokens);
  if (head == "BertForPreTraining") return build_encoder(spec, EncoderHead::PoolerAndMaskedTokens);
  if (head != "BertModel")
    f.note("the head is the pooler: " +
           (head.empty() ? "no architecture is given" : head + " is not known"));
  return build_encoder(spec, EncoderHead::Pooler);
}

Model t5(HfFields& f) {
  TransformerSpec spec = hf_sizes(f, "t5", {32128, 512, 2048, 6, 8, 0, 0, 0, true});
  spec.decoder_layers =
      f.optional_size({"num_decoder_layers"}, spec.layers, "as many as encoder layers");
  spec.head_dim = f.size({"d_kv"}, 64);
  spec.sequence =
      f.optional_size({"n_positions"}, 512, "512, what the published models were trained with");
  spec.tied = f.flag("tie_word_embeddings", true);
  spec.dropout = spec.attention_dropout = f.drops({"dropout_rate"}, 0.1);
  const std::string projection = f.word({"feed_forward_proj"}, "relu");
  if (projection == "gated-gelu") {
    spec.activation = Activation::GatedGelu;
    spec.names.up = "wi_1";
  } else if (projection == "gated-silu") {
    spec.activation = Activation::GatedSilu;
    spec.names.up = "wi_1";
  } else if (projection != "relu") {
    f.find({"feed_forward_proj"})->one_of({"relu", "gated-gelu", "gated-silu"});
  }
  if (const auto buckets = f.find({"relative_attention_num_buckets"});
      buckets && buckets->integer(1, kMostHfSize) != 32)
    buckets->refuse("expected 32 buckets of relative positions, found " +
                    std::to_string(buckets->integer()));
  return build_encoder_decoder(spec);
}

Model vit(HfFields& f) {
  TransformerSpec spec = hf_sizes(f, "vit", {0, 768, 3072, 12, 12, 0, 0, 0, false});
  expect_hf_heads(f, spec, false);
  spec.qkv_bias = f.flag("qkv_bias", true);
  spec.activation = hf_activation(f, {"hidden_act"}, "gelu", false);
  spec.dropout = f.drops({"hidden_dropout_prob"}, 0.0);
  spec.attention_dropout = f.drops({"attention_probs_dropout_prob"}, 0.0);
  ImageSpec image;
  image.image = f.size({"image_size"}, 224, 1, 65536);
  image.patch = f.size({"patch_size"}, 16, 1, image.image);
  image.channels = f.size({"num_channels"}, 3);
  if (image.image % image.patch != 0)
    f.refuse({"patch_size"}, "expected a patch that divides the image of " +
                                 std::to_string(image.image) + ", found " +
                                 std::to_string(image.patch));
  image.classes = 2;
  if (hf_architecture(f) == "ViTModel") {
    image.classes = 0;
  } else if (const auto labels = f.find({"id2label"})) {
    image.classes = std::max<std::int64_t>(1, static_cast<std::int64_t>(labels->keys().size()));
  } else {
    image.classes = f.size({"num_labels"}, 2);
  }
  return build_vision_transformer(spec, image);
}

constexpr HfReader kEstablished[] = {
    {"llama", llama},
    {"mistral", mistral},
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
    {"t5", t5},
    {"vit", vit},
    {"qwen2_vl", qwen2_vl},
    {"qwen2_vl_text", qwen2_vl},
    {"qwen2_5_vl", qwen2_vl},
    {"qwen2_5_vl_text", qwen2_vl},
};

}  // namespace

std::span<const HfReader> hf_established() { return kEstablished; }

}  // namespace trainyard
