// Models small enough to train in a test, one of every kind of family.
#pragma once

#include <string>

#include "core/model/graph_builder.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/vision.h"

namespace trainyard::testing {

/// Products and ReLUs, with `layers` of them between a first and a last.
inline Model tiny_mlp(int layers) { return build_mlp({"tiny mlp", 3, 4, layers, 3}); }

/// Each layer has a convolution, a batch norm and a residual, on images of 4 x 4; pooling and a
/// product follow.
inline Model tiny_convnet(int layers) {
  Model model;
  model.name = "tiny convnet";
  model.family = "resnet";
  model.tokens = false;
  const auto convolve = [](GraphBuilder& b, std::string_view name, TensorId x, std::int64_t in,
                           std::int64_t out, bool leaf) {
    const std::string base(name);
    const TensorId weight =
        b.parameter(base + ".weight", {whole(out), whole(in), whole(3), whole(3)});
    std::map<std::string, std::int64_t> attributes = {{"padding", 1}};
    if (leaf) attributes["leaf"] = 1;
    return b.node(name, convolution(), {x, weight}, attributes);
  };
  const auto image = [](GraphBuilder& b, std::int64_t channels) {
    return b.graph.input = b.activation("input", {kBatch, whole(channels), whole(4), whole(4)});
  };
  GraphBuilder start;
  const TensorId first = convolve(start, "conv", image(start, 1), 1, 2, true);
  model.blocks.push_back(start.block("stem", 1, false, start.node("relu", relu(), {first})));
  GraphBuilder layer;
  const TensorId x = image(layer, 2);
  const TensorId normed =
      layer.node("bn", batch_norm(),
                 {convolve(layer, "conv", x, 2, 2, false), layer.parameter("bn.weight", {whole(2)}),
                  layer.parameter("bn.bias", {whole(2)})});
  const TensorId sum = layer.residual("add", x, normed);
  model.blocks.push_back(layer.block("layers", layers, true, layer.node("relu", relu(), {sum})));
  GraphBuilder end;
  const TensorId pooled = end.node("pool", pooling(), {image(end, 2)}, {{"kernel", 2}});
  const TensorId logits =
      end.linear("fc", end.node("flatten", flatten(), {pooled}), whole(3), true);
  model.blocks.push_back(end.block("head", 1, false, end.loss(logits)));
  return model;
}

struct TinyTransformer {
  int layers = 4;
  std::string family = "gpt2";
  bool tied = false;
  int experts = 0, shared_experts = 0, top_k = 2;
};

/// Two heads of width two, a vocabulary of seven and five tokens.
inline Model tiny_transformer(const TinyTransformer& tiny = {}) {
  TransformerSpec spec = family_spec(tiny.family);
  spec.name = "tiny " + tiny.family;
  spec.layers = tiny.layers;
  spec.hidden = 4;
  spec.heads = 2;
  spec.kv_heads = tiny.family == "gpt2" ? 0 : 1;
  spec.ffn = 6;
  spec.vocab = 7;
  spec.sequence = 5;
  spec.tied = tiny.tied;
  if (tiny.experts > 0) {
    spec.experts.count = tiny.experts;
    spec.experts.top_k = tiny.top_k;
    spec.experts.ffn = 6;
    spec.experts.shared = tiny.shared_experts;
  }
  return build_decoder(spec);
}

/// As small: a BERT, whose norms come after what they add up.
inline Model tiny_encoder(int layers, EncoderHead head = EncoderHead::MaskedTokens) {
  TransformerSpec spec = family_spec("bert");
  spec.name = "tiny bert";
  spec.layers = layers;
  spec.hidden = 4;
  spec.heads = 2;
  spec.ffn = 6;
  spec.vocab = 7;
  spec.sequence = 5;
  return build_encoder(spec, head);
}

/// As small: an encoder and a decoder of so many layers each, of family transformer or t5.
inline Model tiny_encoder_decoder(const std::string& family, int layers, bool tied = true) {
  TransformerSpec spec = family_spec(family);
  spec.name = "tiny " + family;
  spec.layers = spec.decoder_layers = layers;
  spec.hidden = 4;
  spec.heads = 2;
  spec.ffn = 6;
  spec.vocab = 7;
  spec.sequence = 5;
  spec.tied = tied;
  return build_encoder_decoder(spec);
}

/// OLMo 2's norms over all heads of queries and keys; with four tensor ranks, two each share a
/// key/value head.
inline Model tiny_wide_norms(NormKind kind) {
  TransformerSpec spec = family_spec("olmo2");
  spec.name = kind == NormKind::Rms ? "tiny olmo2" : "tiny layer norms";
  spec.norm = kind;
  spec.layers = 4, spec.hidden = 8, spec.heads = 4, spec.kv_heads = 2, spec.ffn = 8;
  spec.vocab = 8, spec.sequence = 8;
  return build_decoder(spec);
}

/// Mamba 2 has a norm over all heads; the first Mamba has none, but its scan reads B and C, of
/// which Jamba has norms.
inline Model tiny_recurrent(Mixer mixer, bool norms = false) {
  TransformerSpec spec = family_spec("mamba2");
  spec.name = mixer == Mixer::StateSpace ? "tiny mamba2" : norms ? "tiny jamba" : "tiny mamba";
  spec.mixer = mixer;
  spec.layers = 4, spec.hidden = 8, spec.heads = 4, spec.head_dim = 4, spec.ffn = 8;
  spec.vocab = 8, spec.sequence = 8;
  spec.state_space.heads = 4, spec.state_space.width = 4, spec.state_space.state = 3;
  spec.state_space.groups = 2, spec.state_space.taps = 2, spec.state_space.chunk = 4;
  spec.selective.inner = 16, spec.selective.state = 3, spec.selective.step_rank = 2;
  spec.selective.taps = 2, spec.selective.norms = norms;
  return build_decoder(spec);
}

/// Qwen 3's norms over each head of queries and of keys, whose weight serves all heads.
inline Model tiny_head_norms() {
  TransformerSpec spec = family_spec("qwen3");
  spec.name = "tiny qwen3";
  spec.layers = 4, spec.hidden = 8, spec.heads = 4, spec.kv_heads = 2, spec.ffn = 8;
  spec.head_dim = 4, spec.vocab = 8, spec.sequence = 8;
  return build_decoder(spec);
}

/// Gated delta in every other layer and attention in the rest, as in Qwen3-Next.
inline Model tiny_delta() {
  TransformerSpec spec = family_spec("llama");
  spec.name = "tiny delta";
  spec.layers = 4, spec.hidden = 8, spec.heads = 4, spec.kv_heads = 2, spec.ffn = 8;
  spec.vocab = 8, spec.sequence = 8;
  spec.delta = {.key_heads = 4, .key_width = 4, .value_heads = 4, .value_width = 3, .taps = 3};
  for (int i = 0; i < 4; ++i)
    spec.pattern.push_back({.mixer = i % 2 == 0 ? Mixer::GatedDelta : Mixer::Attention});
  return build_decoder(spec);
}

/// A BERT with a loss on its first token, alone or beside that on all tokens.
inline Model tiny_pooler(EncoderHead head = EncoderHead::Pooler) {
  TransformerSpec spec = family_spec("bert");
  spec.name = head == EncoderHead::Pooler ? "tiny pooler" : "tiny bert of two losses";
  spec.layers = 4, spec.hidden = 8, spec.heads = 4, spec.ffn = 8;
  spec.vocab = 8, spec.sequence = 8;
  return build_encoder(spec, head);
}

/// Latent attention, whose heads share the rotary part of their keys; queries are compressed where
/// `query_rank` is above 0.
inline Model tiny_latent(std::int64_t query_rank) {
  TransformerSpec spec = family_spec("deepseek_v3");
  spec.name = query_rank > 0 ? "tiny deepseek" : "tiny deepseek lite";
  spec.layers = 4, spec.hidden = 8, spec.heads = 4, spec.kv_heads = 4, spec.ffn = 8;
  spec.vocab = 8, spec.sequence = 8;
  spec.latent = {.q_rank = query_rank, .kv_rank = 4, .nope = 2, .rope = 2, .value = 2};
  return build_decoder(spec);
}

/// A tower of two layers of that family, on `images` images of `image` x `image` pixels a sample,
/// in front of that decoder. Four patches become one token.
inline Model tiny_vision(const std::string& family, std::int64_t images, std::int64_t image,
                         Model decoder, std::int64_t heads = 2) {
  VisionSpec v = vision_family(family);
  v.layers.layers = 2, v.layers.hidden = 8, v.layers.heads = heads, v.layers.ffn = 8;
  v.images = images, v.image = image, v.patch = 2, v.channels = 1;
  if (v.window > 0) v.window = 4, v.whole_layers = {1};
  for (ProjectorStep& step : v.projector) {
    if (step.kind == ProjectorStep::Kind::Average) step.size = 2;
    if (step.kind == ProjectorStep::Kind::Product && step.size > 8) step.size = 8;
  }
  decoder.name = "tiny " + family + " in " + decoder.name;
  return with_vision(std::move(decoder), v);
}

}  // namespace trainyard::testing
