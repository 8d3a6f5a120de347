// The readers of configs of transformers with routed experts.
#include <algorithm>
#include <set>

#include "core/io/models/hf_readers.h"

namespace trainyard {
namespace {

Model mixtral(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "mixtral", {32000, 4096, 14336, 32, 32, 8, 0, 131072, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.window = f.optional_size({"sliding_window"}, 0, "");
  spec.experts.count = f.size({"num_local_experts"}, 8);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 2, 1, spec.experts.count);
  spec.experts.ffn = spec.ffn;
  return build_decoder(spec);
}

// Returns the number of layers before the experts begin. A block with one count cannot express
// dense layers that alternate with layers of experts.
std::int64_t dense_layers_before_experts(HfFields& f, std::int64_t layers) {
  if (const auto step = f.find({"decoder_sparse_step"}); step && step->integer() != 1)
    step->refuse("expected experts in every layer (1), found " + std::to_string(step->integer()));
  const auto listed = f.find({"mlp_only_layers"});
  if (!listed) return 0;
  std::set<std::int64_t> dense;
  for (const JsonCursor& layer : listed->items()) dense.insert(layer.integer(0, layers - 1));
  const auto count = static_cast<std::int64_t>(dense.size());
  if (count > 0 && *dense.rbegin() != count - 1)
    listed->refuse("expected dense layers only at the front (0 to " + std::to_string(count - 1) +
                   "), found layer " + std::to_string(*dense.rbegin()));
  return count;
}

Model qwen3_moe(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "qwen3", {151936, 2048, 6144, 24, 32, 4, 0, 32768, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.experts.count = f.size({"num_experts", "num_local_experts"}, 128);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 8, 1, spec.experts.count);
  spec.experts.ffn = f.size({"moe_intermediate_size"}, 768);
  spec.experts.dense_layers = dense_layers_before_experts(f, spec.layers);
  if (spec.experts.dense_layers == 0) spec.ffn = spec.experts.ffn;
  return build_decoder(spec);
}

Model qwen2_moe(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "qwen2", {151936, 2048, 5632, 24, 16, 16, 0, 32768, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = f.flag("qkv_bias", true);
  if (f.find({"use_sliding_window"}) && f.flag("use_sliding_window", false))
    spec.window = f.optional_size({"sliding_window"}, 4096, "4096, the default of qwen2_moe");
  spec.experts.count = f.size({"num_experts"}, 60);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 4, 1, spec.experts.count);
  spec.experts.ffn = f.size({"moe_intermediate_size"}, 1408);
  spec.experts.shared_ffn = f.size({"shared_expert_intermediate_size"}, 5632);
  spec.experts.shared_gate = true;
  spec.experts.dense_layers = dense_layers_before_experts(f, spec.layers);
  return build_decoder(spec);
}

Model olmoe(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "llama", {50304, 2048, 2048, 16, 16, 0, 0, 4096, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.wide_head_norm = true;
  spec.experts.count = f.size({"num_experts"}, 64);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 8, 1, spec.experts.count);
  spec.experts.ffn = spec.ffn;
  return build_decoder(spec);
}

Model granitemoe(HfFields& f) {
  TransformerSpec spec = hf_decoder(f, "llama", {32000, 4096, 11008, 32, 32, 0, 0, 2048, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.experts.count = f.size({"num_local_experts"}, 8);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 2, 1, spec.experts.count);
  spec.experts.ffn = spec.ffn;
  if (f.find({"shared_intermediate_size"}))
    spec.experts.shared_ffn = f.size({"shared_intermediate_size"}, 0, 0);
  return build_decoder(spec);
}

Model dbrx(HfFields& f) {
  TransformerSpec spec = family_spec("dbrx");
  spec.layers = f.size({"n_layers"}, 24, 1, kMostHfLayers);
  spec.hidden = f.size({"d_model"}, 2048);
  spec.heads = f.size({"n_heads"}, 16);
  spec.vocab = f.size({"vocab_size"}, 32000);
  spec.sequence = f.size({"max_seq_len"}, 2048);
  spec.tied = f.flag("tie_word_embeddings", false);
  const auto part = [&](const char* key, auto read) {
    HfFields fields(f.config().at(key), f.type());
    read(fields);
    for (const std::string& sentence : fields.assumed()) f.note(std::string(key) + ": " + sentence);
  };
  part("attn_config", [&](HfFields& a) { spec.kv_heads = a.size({"kv_n_heads"}, 1); });
  part("ffn_config", [&](HfFields& a) {
    spec.experts.ffn = spec.ffn = a.size({"ffn_hidden_size"}, 3584);
    spec.experts.count = a.size({"moe_num_experts"}, 4);
    spec.experts.top_k = a.size({"moe_top_k"}, 1, 1, spec.experts.count);
  });
  expect_hf_heads(f, spec, false);
  return build_decoder(spec);
}

Model minimax_m2(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "llama", {200064, 3072, 1536, 62, 48, 8, 128, 196608, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.wide_head_norm = f.flag("use_qk_norm", true);
  spec.experts.count = f.size({"num_local_experts"}, 256);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 8, 1, spec.experts.count);
  spec.experts.ffn = spec.ffn;
  spec.experts.router_bias = f.flag("use_routing_bias", true);
  if (const auto types = f.find({"attn_type_list"}))
    for (const JsonCursor& type : types->items())
      if (type.integer() != 1)
        type.refuse("expected softmax attention (1) in every layer, found " +
                    std::to_string(type.integer()));
  if (f.find({"use_mtp"}) && f.flag("use_mtp", false))
    f.note("the layers that predict further tokens are left out");
  return build_decoder(spec);
}

Model gpt_oss(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "gpt_oss", {201088, 2880, 2880, 36, 64, 8, 64, 131072, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", true);
  spec.experts.count = f.size({"num_local_experts", "num_experts"}, 128);
  spec.experts.top_k =
      f.size({"num_experts_per_tok", "experts_per_token"}, 4, 1, spec.experts.count);
  spec.experts.ffn = spec.ffn;
  spec.pattern = hf_windows(f, spec.layers, f.size({"sliding_window"}, 128),
                            [](std::int64_t i) { return i % 2 == 0; });
  return build_decoder(spec);
}

// Layers by their numbers, of a list that a config may leave out or leave empty.
std::vector<std::int64_t> listed(HfFields& f, const char* name) {
  std::vector<std::int64_t> numbers;
  if (const auto list = f.find({name}))
    for (const JsonCursor& item : list->items()) numbers.push_back(item.integer(0, kMostHfLayers));
  return numbers;
}

// Every fourth layer attends to the whole sequence and knows no positions; the others turn queries
// and keys and attend within a chunk. Norms of queries and keys have no weights.
Model llama4(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "llama", {202048, 5120, 8192, 48, 40, 8, 128, 131072, false});
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  ExpertsSpec& experts = spec.experts;
  experts.ffn = spec.ffn;
  experts.shared = 1;
  experts.count = f.size({"num_local_experts"}, 16);
  experts.top_k = f.size({"num_experts_per_tok"}, 1, 1, experts.count);
  spec.ffn = f.size({"intermediate_size_mlp"}, 16384);
  const std::int64_t step = f.size({"interleave_moe_layer_step"}, 1, 1, kMostHfLayers),
                     every = f.size({"no_rope_layer_interval"}, 4, 1, kMostHfLayers),
                     chunk = f.optional_size({"attention_chunk_size"}, 8192, "8192, the default");
  const std::vector<std::int64_t> routed = listed(f, "moe_layers"),
                                  turned = listed(f, "no_rope_layers");
  if (!turned.empty() && static_cast<std::int64_t>(turned.size()) != spec.layers)
    f.refuse({"no_rope_layers"}, "expected 1 or 0 for each of " + std::to_string(spec.layers) +
                                     " layers, found " + std::to_string(turned.size()));
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    LayerKind kind;
    kind.dense = routed.empty() ? (i + 1) % step != 0
                                : std::find(routed.begin(), routed.end(), i) == routed.end();
    kind.rotary = turned.empty() ? (i + 1) % every != 0 : turned[static_cast<std::size_t>(i)] != 0;
    if (kind.rotary) kind.chunk = chunk;
    spec.pattern.push_back(kind);
  }
  if (f.flag("use_qk_norm", true))
    f.note("the norms of queries and keys, which have no weights, are not priced");
  return build_decoder(spec);
}

// Reads what the experts of DeepSeek-V2, V3 and their kin have in common.
void deepseek_experts(HfFields& f, ExpertsSpec& e, std::int64_t layers, const ExpertsSpec& usual) {
  e.count = f.size({"n_routed_experts"}, usual.count);
  e.top_k = f.size({"num_experts_per_tok"}, usual.top_k, 1, e.count);
  e.ffn = f.size({"moe_intermediate_size"}, usual.ffn);
  e.shared = f.optional_size({"n_shared_experts"}, usual.shared,
                             std::to_string(usual.shared) + ", the default of " + f.type(), 0);
  e.dense_layers = f.size({"first_k_dense_replace"}, usual.dense_layers, 0, layers);
  if (const auto every = f.find({"moe_layer_freq"}); every && every->integer() != 1)
    every->refuse("expected experts in every layer (1), found " + std::to_string(every->integer()));
  if (const auto extra = f.find({"num_nextn_predict_layers"});
      extra && extra->integer(0, kMostHfLayers) > 0)
    f.note("the layer that predicts a second token is left out");
}

// Where a token chooses among all groups, there are none.
void expert_groups(HfFields& f, ExpertsSpec& e, std::int64_t groups, std::int64_t chosen) {
  e.groups = f.size({"n_group"}, groups, 1, e.count);
  e.chosen_groups = f.size({"topk_group"}, chosen, 1, e.groups);
  if (e.chosen_groups == e.groups) e.groups = e.chosen_groups = 0;
}

void latent_heads(HfFields& f, LatentSpec& latent) {
  latent.q_rank = f.optional_size({"q_lora_rank"}, 0, "queries are projected directly");
  latent.kv_rank = f.size({"kv_lora_rank"}, 512);
  latent.nope = f.size({"qk_nope_head_dim"}, 128);
  latent.rope = f.size({"qk_rope_head_dim"}, 64);
  latent.value = f.size({"v_head_dim"}, 128);
}

Model deepseek_v3(HfFields& f) {
  TransformerSpec spec =
      hf_sizes(f, "deepseek_v3", {129280, 7168, 18432, 61, 128, 0, 0, 4096, false});
  spec.tied = f.flag("tie_word_embeddings", false);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  deepseek_experts(f, spec.experts, spec.layers, {256, 8, 2048, 1, 3});
  expert_groups(f, spec.experts, 8, 4);
  latent_heads(f, spec.latent);
  return build_decoder(spec);
}

Model deepseek_v2(HfFields& f) {
  TransformerSpec spec =
      hf_sizes(f, "deepseek_v3", {102400, 4096, 11008, 30, 32, 0, 0, 2048, false});
  spec.experts.router_bias = false;
  spec.tied = f.flag("tie_word_embeddings", false);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  deepseek_experts(f, spec.experts, spec.layers,
                   {f.config().at("n_routed_experts").integer(1, kMostHfSize),
                    f.config().at("num_experts_per_tok").integer(1, kMostHfSize), 1407, 0, 0});
  if (f.word({"topk_method"}, "greedy") != "greedy") expert_groups(f, spec.experts, 1, 1);
  latent_heads(f, spec.latent);
  return build_decoder(spec);
}

Model glm4_moe(HfFields& f) {
  TransformerSpec spec =
      hf_decoder(f, "glm4_moe", {151552, 4096, 10944, 46, 96, 8, 128, 131072, false});
  spec.qkv_bias = f.flag("attention_bias", false);
  spec.head_norm = f.flag("use_qk_norm", false);
  spec.activation = hf_activation(f, {"hidden_act"}, "silu", true);
  deepseek_experts(f, spec.experts, spec.layers, {128, 8, 1408, 1, 1});
  expert_groups(f, spec.experts, 1, 1);
  return build_decoder(spec);
}

constexpr HfReader kRouted[] = {
    {"mixtral", mixtral},
    {"qwen2_moe", qwen2_moe},
    {"qwen3_moe", qwen3_moe},
    {"gpt_oss", gpt_oss},
    {"llama4_text", llama4},
    {"deepseek_v2", deepseek_v2},
    {"deepseek_v3", deepseek_v3},
    {"kimi_k2", deepseek_v3},  // uses the same classes and keys under another name
    {"glm4_moe", glm4_moe},
    {"minimax_m2", minimax_m2},
    {"dbrx", dbrx},
    {"olmoe", olmoe},
    {"granitemoe", granitemoe},
    {"granitemoeshared", granitemoe},
};

}  // namespace

std::span<const HfReader> hf_routed() { return kRouted; }

}  // namespace trainyard
