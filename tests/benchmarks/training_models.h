// The five training steps that against_torch compares; both sides build these networks.
#pragma once

#include <string>
#include <vector>

#include "core/model/graph_builder.h"

namespace trainyard::benchmarks {

struct TrainingCase {
  std::string name;
  Model model;
  std::int64_t batch = 1, sequence = 1;
  std::string optimizer;  // "momentum" (0.9), "adam", "adamw"
};

/// Learned positions, layer norms before each part, GELU, biases everywhere, an output head of its
/// own, no dropout; a feed-forward part four times as wide.
inline Model small_decoder(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                           std::int64_t sequence) {
  TransformerSpec spec = family_spec("gpt2");
  spec.name = "decoder";
  spec.layers = layers;
  spec.hidden = hidden;
  spec.heads = heads;
  spec.ffn = 4 * hidden;
  spec.vocab = 512;
  spec.sequence = sequence;
  spec.tied = spec.fused_qkv = spec.dropout = spec.attention_dropout = false;
  return build_decoder(spec);
}

/// Three times a convolution of 3 x 3, a batch norm, a ReLU and the largest of 2 x 2; then the mean
/// over the image and a product.
inline Model small_convnet() {
  Model model;
  model.name = "convnet";
  model.family = "vgg";
  model.tokens = false;
  std::int64_t channels = 3, size = 32;
  GraphBuilder b;
  const auto image = [&] {
    return b.graph.input =
               b.activation("input", {kBatch, whole(channels), whole(size), whole(size)});
  };
  for (const std::int64_t out : {32, 64, 128}) {
    const TensorId x = image();
    const TensorId weight =
        b.parameter("conv.weight", {whole(out), whole(channels), whole(3), whole(3)});
    std::map<std::string, std::int64_t> attributes = {{"padding", 1}};
    if (channels == 3) attributes["leaf"] = 1;
    TensorId h = b.node("conv", convolution(), {x, weight}, attributes);
    h = b.node("bn", batch_norm(),
               {h, b.parameter("bn.weight", {whole(out)}), b.parameter("bn.bias", {whole(out)})});
    h = b.node("pool", pooling(), {b.node("relu", relu(), {h})}, {{"kernel", 2}});
    model.blocks.push_back(b.block("layer" + std::to_string(out), 1, true, h));
    b = {};
    channels = out, size /= 2;
  }
  const TensorId pooled = b.node("pool", pooling(), {image()}, {{"kernel", 0}, {"average", 1}});
  const TensorId logits = b.linear("fc", b.node("flatten", flatten(), {pooled}), whole(10), true);
  model.blocks.push_back(b.block("head", 1, false, b.loss(logits)));
  return model;
}

inline std::vector<TrainingCase> training_cases() {
  const Model mlp = build_mlp({"mlp", 784, 512, 1, 10});
  return {{"mlp-sgd", mlp, 64, 1, "momentum"},
          {"mlp-adam", mlp, 64, 1, "adam"},
          {"decoder-256", small_decoder(3, 256, 4, 128), 8, 128, "adamw"},
          {"decoder-128", small_decoder(3, 128, 4, 64), 8, 64, "adamw"},
          {"decoder-512", small_decoder(4, 512, 8, 128), 4, 128, "adamw"},
          {"convnet", small_convnet(), 32, 1, "momentum"}};
}

}  // namespace trainyard::benchmarks
