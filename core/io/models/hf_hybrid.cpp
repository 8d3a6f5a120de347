// The readers of configs whose layers have state spaces or the gated delta rule, alone or beside
// attention.
#include <algorithm>

#include "core/io/models/hf_readers.h"

namespace trainyard {
namespace {

// The names under which the types have the sizes of a state space.
struct StateSpaceKeys {
  const char *heads, *width, *state, *groups, *taps, *chunk, *bias, *convolution_bias;
};
constexpr StateSpaceKeys kMambaKeys = {"num_heads",   "head_dim",   "state_size", "n_groups",
                                       "conv_kernel", "chunk_size", "use_bias",   "use_conv_bias"};
constexpr StateSpaceKeys kBambaKeys = {"mamba_n_heads",   "mamba_d_head",   "mamba_d_state",
                                       "mamba_n_groups",  "mamba_d_conv",   "mamba_chunk_size",
                                       "mamba_proj_bias", "mamba_conv_bias"};
constexpr StateSpaceKeys kNemotronKeys = {"mamba_num_heads", "mamba_head_dim", "ssm_state_size",
                                          "n_groups",        "conv_kernel",    "chunk_size",
                                          "use_bias",        "use_conv_bias"};

StateSpaceSpec state_space_of(HfFields& f, const StateSpaceKeys& keys, const StateSpaceSpec& usual,
                              std::int64_t inner) {
  StateSpaceSpec s;
  s.heads = f.size({keys.heads}, usual.heads);
  // "auto", or no default, is what the width of all heads leaves to one.
  const auto width = f.find({keys.width});
  if (width ? width->value().text() != nullptr : usual.width == 0) {
    if (width) width->one_of({"auto"});
    if (inner % s.heads != 0)
      f.refuse({keys.heads}, "expected heads of a state space that divide its width " +
                                 std::to_string(inner) + ", found " + std::to_string(s.heads));
    s.width = inner / s.heads;
  } else {
    s.width = f.size({keys.width}, usual.width);
  }
  s.state = f.size({keys.state}, usual.state);
  s.groups = f.size({keys.groups}, usual.groups, 1, s.heads);
  s.taps = f.size({keys.taps}, 4, 1, 64);
  s.chunk = f.size({keys.chunk}, 256);
  s.bias = f.flag(keys.bias, false);
  s.convolution_bias = f.flag(keys.convolution_bias, true);
  if (s.heads % s.groups != 0)
    f.refuse({keys.groups}, "expected groups that divide the " + std::to_string(s.heads) +
                                " heads of a state space, found " + std::to_string(s.groups));
  return s;
}

Model mamba2(HfFields& f) {
  TransformerSpec spec = family_spec("mamba2");
  spec.layers = f.size({"num_hidden_layers", "n_layer"}, 64, 1, kMostHfLayers);
  spec.hidden = f.size({"hidden_size", "d_model"}, 4096);
  spec.vocab = f.size({"vocab_size"}, 32768);
  spec.sequence = f.optional_size({"max_position_embeddings"}, 2048,
                                  "2048, what the published models were trained with");
  spec.tied = f.flag("tie_word_embeddings", false);
  const std::int64_t inner = f.size({"expand"}, 2, 1, 1024) * spec.hidden;
  spec.state_space = state_space_of(f, kMambaKeys, {128, 64, 128, 8}, inner);
  if (spec.state_space.heads * spec.state_space.width != inner)
    f.refuse({"num_heads"}, "expected heads whose widths sum to " + std::to_string(inner) +
                                ", found " + std::to_string(spec.state_space.heads) + " of " +
                                std::to_string(spec.state_space.width));
  spec.heads = spec.state_space.heads;
  spec.head_dim = spec.state_space.width;
  spec.ffn = spec.hidden;  // no layer has a feed-forward part
  return build_decoder(spec);
}

// Bamba and Granite 4: every layer has a feed-forward part, and most have a state space in place of
// attention.
Model bamba(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "llama", {128000, 4096, 14336, 32, 32, 8, 0, 262144, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.mlp_bias = f.flag("mlp_bias", false);
  spec.state_space = state_space_of(f, kBambaKeys, {128, 0, 256, 1},
                                    f.size({"mamba_expand"}, 2, 1, 1024) * spec.hidden);
  spec.pattern.resize(static_cast<std::size_t>(spec.layers), {.mixer = Mixer::StateSpace});
  if (const auto attends = f.find({"attn_layer_indices"}))
    for (const JsonCursor& layer : attends->items())
      spec.pattern[static_cast<std::size_t>(layer.integer(0, spec.layers - 1))].mixer =
          Mixer::Attention;
  return build_decoder(spec);
}

Model granitemoehybrid(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "llama", {32000, 4096, 11008, 32, 32, 0, 0, 2048, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  if (f.word({"position_embedding_type"}, "rope") != "rope") spec.positions = Positions::Alibi;
  const bool rotates = spec.positions == Positions::Rotary;
  spec.experts.count = f.size({"num_local_experts"}, 8, 0);
  const std::int64_t shared = f.size({"shared_intermediate_size"}, 1024, 0);
  if (spec.experts.count > 0) {
    spec.experts.top_k = f.size({"num_experts_per_tok"}, 2, 1, spec.experts.count);
    spec.experts.ffn = spec.ffn;
    spec.experts.shared_ffn = shared;
  } else {
    spec.ffn = shared;  // the part that all tokens share is then all there is
  }
  spec.state_space = state_space_of(f, kBambaKeys, {128, 0, 256, 1},
                                    f.size({"mamba_expand"}, 2, 1, 1024) * spec.hidden);
  const JsonCursor types = f.config().at("layer_types");
  for (const JsonCursor& type : types.items())
    spec.pattern.push_back({.rotary = rotates,
                            .mixer = type.one_of({"mamba", "attention"}) == "mamba"
                                         ? Mixer::StateSpace
                                         : Mixer::Attention});
  if (static_cast<std::int64_t>(spec.pattern.size()) != spec.layers)
    types.refuse("expected the type of each of " + std::to_string(spec.layers) + " layers, found " +
                 std::to_string(spec.pattern.size()));
  return build_decoder(spec);
}

// M, *, - and E are layers of a state space, of attention, of a feed-forward part and of experts.
Model nemotron_h(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "nemotron_h", {131072, 4096, 21504, 52, 32, 8, 128, 4096, false});
  if (f.find({"attention_head_dim"})) spec.head_dim = f.size({"attention_head_dim"}, 128);
  spec.activation = hf_activation(f, {"mlp_hidden_act"}, "relu2", false);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.mlp_bias = f.flag("mlp_bias", false);
  spec.state_space = state_space_of(f, kNemotronKeys, {128, 64, 128, 8}, 2 * spec.hidden);
  const JsonCursor word = f.config().at("hybrid_override_pattern");
  const std::string letters = word.text();
  if (static_cast<std::int64_t>(letters.size()) != spec.layers)
    word.refuse("expected a letter for each of " + std::to_string(spec.layers) + " layers, found " +
                std::to_string(letters.size()));
  for (const char letter : letters) {
    LayerKind kind{.dense = letter == '-', .rotary = false};
    kind.mixer = letter == 'M' ? Mixer::StateSpace : letter == '*' ? Mixer::Attention : Mixer::None;
    kind.feed_forward = kind.mixer == Mixer::None;
    if (std::string("M*-E").find(letter) == std::string::npos)
      word.refuse(std::string("expected M, *, - or E for each layer, found ") + letter);
    spec.pattern.push_back(kind);
  }
  if (letters.find('E') != std::string::npos) {
    spec.experts.count = f.size({"n_routed_experts"}, 8);
    spec.experts.top_k = f.size({"num_experts_per_tok"}, 2, 1, spec.experts.count);
    spec.experts.ffn = f.size({"moe_intermediate_size"}, 7688);
    spec.experts.shared = f.size({"n_shared_experts"}, 1, 0, 1024);
    spec.experts.shared_ffn =
        spec.experts.shared * f.size({"moe_shared_expert_intermediate_size"}, 7688);
    spec.experts.router_bias = true;
  }
  return build_decoder(spec);
}

Model qwen3_next(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "qwen3_next", {151936, 2048, 5632, 48, 16, 2, 256, 32768, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.experts.count = f.size({"num_experts"}, 512);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 10, 1, spec.experts.count);
  spec.experts.ffn = f.size({"moe_intermediate_size"}, 512);
  spec.experts.shared_ffn = f.size({"shared_expert_intermediate_size"}, 512);
  spec.delta.key_heads = f.size({"linear_num_key_heads"}, 16);
  spec.delta.key_width = f.size({"linear_key_head_dim"}, 128);
  spec.delta.value_heads = f.size({"linear_num_value_heads"}, 32);
  spec.delta.value_width = f.size({"linear_value_head_dim"}, 128);
  spec.delta.taps = f.size({"linear_conv_kernel_dim"}, 4, 1, 64);
  if (spec.delta.value_heads % spec.delta.key_heads != 0)
    f.refuse({"linear_num_key_heads"},
             "expected key heads that divide the " + std::to_string(spec.delta.value_heads) +
                 " value heads, found " + std::to_string(spec.delta.key_heads));
  const std::int64_t every = f.size({"full_attention_interval"}, 4, 1, kMostHfLayers);
  const auto list = f.find({"layer_types"});
  const std::vector<JsonCursor> types = list ? list->items() : std::vector<JsonCursor>();
  if (list && static_cast<std::int64_t>(types.size()) != spec.layers)
    list->refuse("expected the type of each of " + std::to_string(spec.layers) + " layers, found " +
                 std::to_string(types.size()));
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    const bool full = list ? types[static_cast<std::size_t>(i)].one_of(
                                 {"full_attention", "linear_attention"}) == "full_attention"
                           : (i + 1) % every == 0;
    spec.pattern.push_back({.mixer = full ? Mixer::Attention : Mixer::GatedDelta});
  }
  return build_decoder(spec);
}

SelectiveSpec selective_of(HfFields& f, const char* state, const char* taps, const char* rank,
                           std::int64_t hidden, std::int64_t inner) {
  SelectiveSpec s;
  s.inner = inner;
  s.state = f.size({state}, 16);
  s.taps = f.size({taps}, 4, 1, 64);
  const auto given = f.find({rank});
  if (given && given->value().text() == nullptr)
    s.step_rank = given->integer(1, kMostHfSize);
  else
    s.step_rank = (hidden + 15) / 16;  // "auto"
  if (given && given->value().text() != nullptr) given->one_of({"auto"});
  return s;
}

Model mamba(HfFields& f) {
  TransformerSpec spec = family_spec("mamba2");
  spec.mixer = Mixer::SelectiveScan;
  spec.layers = f.size({"num_hidden_layers", "n_layer"}, 32, 1, kMostHfLayers);
  spec.hidden = f.size({"hidden_size", "d_model"}, 768);
  spec.vocab = f.size({"vocab_size"}, 50280);
  spec.sequence = f.optional_size({"max_position_embeddings"}, 2048,
                                  "2048, what the published models were trained with");
  spec.tied = f.flag("tie_word_embeddings", true);
  const std::int64_t inner = f.find({"intermediate_size"})
                                 ? f.size({"intermediate_size"}, 0)
                                 : f.size({"expand"}, 2, 1, 1024) * spec.hidden;
  spec.selective =
      selective_of(f, "state_size", "conv_kernel", "time_step_rank", spec.hidden, inner);
  spec.selective.bias = f.flag("use_bias", false);
  spec.selective.convolution_bias = f.flag("use_conv_bias", true);
  spec.heads = 1, spec.head_dim = spec.hidden;  // no layer attends
  spec.ffn = spec.hidden;                       // or has a feed-forward part
  return build_decoder(spec);
}

// One layer of a period attends, without positions, and one of another has experts.
Model jamba(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "llama", {65536, 4096, 14336, 32, 32, 8, 0, 262144, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.experts.count = f.size({"num_experts"}, 16);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 2, 1, spec.experts.count);
  spec.experts.ffn = spec.ffn;
  spec.selective = selective_of(f, "mamba_d_state", "mamba_d_conv", "mamba_dt_rank", spec.hidden,
                                f.size({"mamba_expand"}, 2, 1, 1024) * spec.hidden);
  spec.selective.bias = f.flag("mamba_proj_bias", false);
  spec.selective.convolution_bias = f.flag("mamba_conv_bias", true);
  spec.selective.norms = true;
  const auto period = [&](const char* every, const char* first, std::int64_t usual,
                          std::int64_t offset) {
    const std::int64_t n = f.size({every}, usual, 1, kMostHfLayers),
                       at = f.size({first}, offset, 0, n - 1);
    return [n, at](std::int64_t i) { return i % n == at; };
  };
  const auto attends = period("attn_layer_period", "attn_layer_offset", 8, 4),
             routes = period("expert_layer_period", "expert_layer_offset", 2, 1);
  for (std::int64_t i = 0; i < spec.layers; ++i)
    spec.pattern.push_back({.dense = spec.experts.count == 1 || !routes(i),
                            .rotary = false,
                            .mixer = attends(i) ? Mixer::Attention : Mixer::SelectiveScan});
  return build_decoder(spec);
}

constexpr HfReader kHybrid[] = {
    {"mamba", mamba},
    {"jamba", jamba},
    {"mamba2", mamba2},
    {"bamba", bamba},
    {"granitemoehybrid", granitemoehybrid},
    {"nemotron_h", nemotron_h},
    {"qwen3_next", qwen3_next},
};

}  // namespace

std::span<const HfReader> hf_hybrid() { return kHybrid; }

}  // namespace trainyard
