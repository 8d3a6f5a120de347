// Builders turn published sizes into a Model. The zoo and the importer of Hugging Face configs fill
// the same specs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace trainyard {

enum class NormKind : std::uint8_t {
  Layer,
  Rms,
  RmsUnitOffset,  // multiplies by 1 + weight (Gemma)
  LayerWithoutBias
};
enum class Activation : std::uint8_t { Gelu, Relu, GatedSilu, GatedGelu, SquaredRelu };
enum class Positions : std::uint8_t { Rotary, Learned, Alibi, Sinusoidal, Relative };

/// ExpertsSpec describes the mixture of experts in every layer but the first `dense_layers`. count
/// 0 = no experts.
struct ExpertsSpec {
  std::int64_t count = 0, top_k = 0, ffn = 0;
  std::int64_t shared = 0;  // experts that every token visits, computed as one product of `shared`
                            // times ffn
  std::int64_t dense_layers = 0;  // layers at the start with an ordinary feed-forward part
  bool router_bias = false;       // a trained balancing bias per expert (DeepSeek-V3)
  std::int64_t groups = 0;  // groups of neighbouring experts, of which a token chooses experts in
  std::int64_t chosen_groups = 0;  // only so many; 0 = in all
  std::int64_t shared_ffn = 0;     // width of that product, where it is not `shared` times ffn
  bool shared_gate = false;        // multiplied by a gate in [0, 1] of each token (Qwen 2)
  bool bias = false;               // of the experts' products (gpt-oss)
};

/// Mixer says how the tokens of a layer meet each other.
enum class Mixer : std::uint8_t { Attention, StateSpace, SelectiveScan, GatedDelta, None };

/// StateSpaceSpec describes the layers of Mamba 2 (Dao and Gu 2024).
struct StateSpaceSpec {
  std::int64_t heads = 0, width = 0, state = 0;
  std::int64_t groups = 1;  // heads of a group share what they take in and give out (B and C)
  std::int64_t taps = 4;    // of the convolution before the scan
  std::int64_t chunk = 256;
  bool bias = false, convolution_bias = true;
};

/// SelectiveSpec describes the layers of the first Mamba (Gu and Dao 2023).
struct SelectiveSpec {
  std::int64_t inner = 0, state = 0;
  std::int64_t step_rank = 0;  // width from which the steps of all channels are projected
  std::int64_t taps = 4;       // of the convolution before the scan
  bool bias = false, convolution_bias = true;
  bool norms = false;  // of steps, B and C (Jamba)
};

/// DeltaSpec describes the layers of the gated delta rule (Yang et al. 2024).
struct DeltaSpec {
  std::int64_t key_heads = 0, key_width = 0, value_heads = 0, value_width = 0;
  std::int64_t taps = 4;  // of the convolution before the rule
};

/// LayerKind holds what may differ from layer to layer in one model.
struct LayerKind {
  bool dense = false;       // an ordinary feed-forward part instead of experts
  bool rotary = true;       // queries and keys are rotated by their position
  std::int64_t window = 0;  // sliding attention window, 0 = the whole sequence
  std::int64_t chunk = 0;   // attention within pieces of so many tokens, 0 = the whole sequence
  Mixer mixer = Mixer::Attention;
  bool feed_forward = true;  // false: the mixer is all of the layer
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// LatentSpec describes multi-head latent attention (DeepSeek-V2/V3). kv_rank 0 = ordinary
/// attention.
struct LatentSpec {
  std::int64_t q_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_rank = 0, nope = 0, rope = 0, value = 0;
};

/// LayerNames holds the names that a family gives to its nodes; "" = the family has no such node.
struct LayerNames {
  std::string_view embedding, attention_norm, qkv, q, k, v, out, mlp_norm, gate, up, down,
      final_norm, head;
};

/// TransformerSpec describes every kind of transformer: decoder, encoder, encoder-decoder, vision.
/// Sizes are >= 1 unless their comment says otherwise.
struct TransformerSpec {
  std::string name, family, source;
  LayerNames names;
  std::int64_t layers = 0;
  std::int64_t decoder_layers = 0;  // encoder-decoder only; `layers` are then the encoder's
  std::int64_t hidden = 0, heads = 0;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 0;  // 0: hidden / heads
  std::int64_t ffn = 0, vocab = 0, sequence = 0;
  std::int64_t position_offset = 0;  // rows of the position table before position 0 (OPT: 2)
  std::int64_t token_types = 0;      // rows of the segment table (BERT: 2)
  std::int64_t embedding_width = 0;  // 0: hidden; else projected in and out (OPT-350m)
  std::int64_t window = 0;           // sliding attention window, 0 = the whole sequence
  NormKind norm = NormKind::Layer;
  Activation activation = Activation::Gelu;
  Positions positions = Positions::Learned;
  bool tied = false;  // output head shares the embedding table
  bool qkv_bias = false, out_bias = false, mlp_bias = false, head_bias = false;
  bool fused_qkv = false;  // one projection for queries, keys and values; only where kv_heads =
                           // heads
  bool parallel = false;   // attention and feed-forward run side by side (NeoX, Phi)
  bool one_norm = false;   // both read the same norm (Phi)
  bool post_norm = false;  // norm after the residual sum (BERT, OPT-350m, the first Transformer)
  bool sandwich_norm = false;  // a second norm after each part, before the sum (Gemma 2)
  bool final_norm = true;
  bool embedding_norm = false;    // BLOOM, BERT
  bool head_norm = false;         // queries and keys are normalised per head (Qwen3)
  bool wide_head_norm = false;    // and here over all heads together (OLMo 2)
  bool reordered_norm = false;    // a norm after each part, before the sum, and none before it
                                  // (OLMo 2)
  bool sinks = false;             // a number per head takes part in each softmax (gpt-oss)
  bool scaled_embedding = false;  // multiplied by the square root of hidden (Gemma)
  bool layer_scale = false;  // each part is multiplied by a learnt number for each channel before
                             // the sum (InternViT)
  bool dropout = false, attention_dropout = false;
  ExpertsSpec experts;
  LatentSpec latent;
  std::int64_t chunk = 0;  // attention within pieces of so many tokens, 0 = the whole sequence
  Mixer mixer = Mixer::Attention;
  bool feed_forward = true;
  bool attention_gate = false;  // what attention gives is multiplied by a gate (Qwen3-Next)
  StateSpaceSpec state_space;   // of layers with that mixer, as the next two are
  SelectiveSpec selective;
  DeltaSpec delta;
  /// The kind of each layer, where they differ: it takes the place of experts.dense_layers, window,
  /// chunk, positions, mixer and feed_forward. Empty = all layers are alike behind the dense ones.
  std::vector<LayerKind> pattern;
};

/// Returns what all models of a family share: names, norms, biases, positions. The families are
/// llama, mistral, mixtral, qwen2, qwen3, gemma, gemma2, phi, phi3, gpt2, gpt_neox, opt, bloom,
/// bert, vit, t5, transformer, deepseek_v3, gpt_oss, gemma3, glm4, glm4_moe, olmo2, falcon,
/// starcoder2, cohere, nemotron, dbrx, mamba2, nemotron_h and
/// qwen3_next. Throws Error{InvalidInput} with the nearest name.
TransformerSpec family_spec(std::string_view family);
/// Returns the names that family_spec() accepts, in that order.
const std::vector<std::string>& transformer_families();

/// Throws Error{InvalidInput} when sizes do not go together (heads that do not divide, top_k above
/// the experts).
Model build_decoder(const TransformerSpec&);

/// EncoderHead says what an encoder ends with: its pooler, a head that predicts masked tokens, or
/// both.
enum class EncoderHead : std::uint8_t { Pooler, MaskedTokens, PoolerAndMaskedTokens };
Model build_encoder(const TransformerSpec&, EncoderHead = EncoderHead::Pooler);
Model build_encoder_decoder(const TransformerSpec&);

struct ImageSpec {
  std::int64_t image = 224, patch = 16, channels = 3;
  std::int64_t classes = 1000;  // 0: a pooler instead of a classifier
};
/// Builds a transformer over square images whose side the patch size divides. The sequence length
/// follows from the image; spec.sequence is not read.
Model build_vision_transformer(const TransformerSpec&, const ImageSpec&);

/// Builds the residual network of He et al. 2015 on 224 x 224 images; blocks gives the number of
/// residual blocks in each of the four stages.
Model build_resnet(std::string name, const std::vector<int>& blocks, bool bottleneck);
/// Builds the same paper's network for 32 x 32 images: 6 n + 2 layers, with projection shortcuts.
Model build_small_resnet(std::string name, int blocks_per_stage);
/// Builds the wide residual network of Zagoruyko and Komodakis 2016 on 32 x 32 images: depth = 6 n
/// + 4.
Model build_wide_resnet(std::string name, int depth, int width);
Model build_vgg16(std::string name);
/// Builds a small network of our own for 32 x 32 images: a stem, blocks of four branches each as in
/// Inception-ResNet (Szegedy et al. 2016), and a classifier. blocks >= 1.
Model build_branched(std::string name, std::int64_t blocks);

/// ConvNetSpec describes a residual network of any size on square images: a stem, then stages of
/// plain residual blocks, each stage after the first with twice the channels and half the image
/// side. Sizes are >= 1.
struct ConvNetSpec {
  std::string name;
  std::int64_t image = 0, channels = 0, classes = 0;
  std::int64_t width = 0;  // channels of the first stage
  std::int64_t stages = 0, blocks = 0;
};
/// Throws Error{InvalidInput} when the last stage would have no image left.
Model build_convnet(const ConvNetSpec&);

/// MlpSpec describes layers of products with ReLUs between them. Sizes are >= 1.
struct MlpSpec {
  std::string name;
  std::int64_t inputs = 0, hidden = 0, hidden_layers = 0, outputs = 0;
  bool regression = false;  // ends in the squared error of its outputs, and else in the cross
                            // entropy of outputs that are classes
};
Model build_mlp(const MlpSpec&);

/// RecurrentSpec describes a language model of characters or words: an embedding table, LSTM layers
/// of the same width, and a head. Sizes are >= 1.
struct RecurrentSpec {
  std::string name;
  std::int64_t vocab = 0, hidden = 0, layers = 0, sequence = 0;
};
Model build_lstm(const RecurrentSpec&);

/// RecommenderSpec describes DLRM (Naumov et al. 2019): embedding tables, a bottom and a top
/// network (given by the widths after their inputs) and the dot interaction.
struct RecommenderSpec {
  std::string name;
  std::vector<std::int64_t> tables;  // rows of each table
  std::int64_t width = 0;  // width of the embedding vectors and of the bottom network's output
  std::int64_t dense = 0;  // inputs of the bottom network
  std::vector<std::int64_t> bottom, top;
};
Model build_recommender(const RecommenderSpec&);

}  // namespace trainyard
