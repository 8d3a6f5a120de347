#include "core/io/models/hf_config_import.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>

#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/io/json/json.h"
#include "core/io/models/hf_config_keys.h"
#include "core/model/zoo/builders.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostConfigSize = std::int64_t{1} << 28;
constexpr std::int64_t kMostConfigLayers = 100'000;

using FieldNames = std::initializer_list<const char*>;

// Fields reads keys, under any of their names, and remembers which were there and which were
// assumed.
class Fields {
 public:
  Fields(JsonCursor config, std::string model_type)
      : config_(std::move(config)), type_(std::move(model_type)) {}

  std::int64_t size(FieldNames names, std::int64_t fallback, std::int64_t low = 1,
                    std::int64_t high = kMostConfigSize) {
    if (const auto field = find(names)) return field->integer(low, high);
    return assume(names, std::to_string(fallback)), fallback;
  }
  /// Reads a size whose absence (or null) has a meaning of its own, which the sentence states.
  std::int64_t optional_size(FieldNames names, std::int64_t fallback, const std::string& sentence,
                             std::int64_t low = 1) {
    if (const auto field = find(names)) return field->integer(low, kMostConfigSize);
    if (!sentence.empty()) note(std::string(*names.begin()) + " is not given: " + sentence);
    return fallback;
  }
  bool flag(const char* name, bool fallback) {
    if (const auto field = find({name})) return field->boolean();
    return assume({name}, fallback ? "true" : "false"), fallback;
  }
  /// Returns whether a dropout rate is above zero.
  bool drops(FieldNames names, double fallback) {
    const auto field = find(names);
    if (!field) return assume(names, to_text(fallback)), fallback > 0;
    const double rate = field->number();
    if (!(rate >= 0 && rate < 1)) field->expected("a dropout rate from 0 to less than 1");
    return rate > 0;
  }
  std::string word(FieldNames names, const char* fallback) {
    if (const auto field = find(names)) return field->text();
    return assume(names, fallback), fallback;
  }
  std::optional<JsonCursor> find(FieldNames names) {
    for (const char* name : names)
      if (const auto field = config_.find(name)) return field;
    return std::nullopt;
  }
  [[noreturn]] void refuse(FieldNames names, const std::string& sentence) {
    if (const auto field = find(names)) field->refuse(sentence);
    config_.refuse(sentence);
  }
  void note(std::string sentence) { assumed_.push_back(std::move(sentence)); }

  const JsonCursor& config() const { return config_; }
  const std::string& type() const { return type_; }
  const std::vector<std::string>& assumed() const { return assumed_; }

 private:
  void assume(FieldNames names, const std::string& value) {
    note(std::string(*names.begin()) + " is not given: " + value + ", the default of " + type_);
  }
  JsonCursor config_;
  std::string type_;
  std::vector<std::string> assumed_;
};

// Defaults are the values that the classes take for missing keys.
struct Defaults {
  std::int64_t vocab, hidden, ffn, layers, heads, kv_heads, head_dim, sequence;  // 0: follows from
                                                                                 // the others
  bool tied;
};

constexpr FieldNames kHidden = {"hidden_size", "n_embd", "d_model", "n_embed"};
constexpr FieldNames kHeads = {"num_attention_heads", "n_head", "num_heads"};
constexpr FieldNames kLayers = {"num_hidden_layers", "n_layer", "num_layers"};
constexpr FieldNames kFfn = {"intermediate_size", "n_inner", "ffn_dim", "d_ff"};
constexpr FieldNames kPositions = {"max_position_embeddings", "n_positions", "n_ctx", "seq_length"};

constexpr const char* kGelus[] = {"gelu",       "gelu_new",    "gelu_fast",    "gelu_pytorch_tanh",
                                  "quick_gelu", "gelu_python", "gelu_accurate"};

Activation activation(Fields& f, FieldNames names, const char* fallback, bool gated) {
  const std::string name = f.word(names, fallback);
  if (std::find(std::begin(kGelus), std::end(kGelus), name) != std::end(kGelus))
    return gated ? Activation::GatedGelu : Activation::Gelu;
  if (name == "silu" || name == "swish") {
    if (!gated) f.note("the activation " + name + " is priced as gelu");
    return gated ? Activation::GatedSilu : Activation::Gelu;
  }
  if (name == "relu") {
    if (gated) f.note("the gated activation relu is priced as silu");
    return gated ? Activation::GatedSilu : Activation::Relu;
  }
  std::vector<std::string> known(std::begin(kGelus), std::end(kGelus));
  known.insert(known.end(), {"silu", "swish", "relu"});
  f.find(names)->one_of(known);
  return Activation::Gelu;
}

// Reads the sizes that all transformers have.
TransformerSpec sizes(Fields& f, const char* family, const Defaults& d) {
  TransformerSpec spec = family_spec(family);
  spec.layers = f.size(kLayers, d.layers, 1, kMostConfigLayers);
  spec.hidden = f.size(kHidden, d.hidden);
  spec.heads = f.size(kHeads, d.heads);
  if (d.ffn > 0) {
    spec.ffn = f.size(kFfn, d.ffn);
  } else {
    spec.ffn = f.optional_size(kFfn, 4 * spec.hidden, "4 times the hidden size");
  }
  if (d.vocab > 0) spec.vocab = f.size({"vocab_size"}, d.vocab);
  if (d.sequence > 0) spec.sequence = f.size(kPositions, d.sequence);
  return spec;
}

void expect_heads(Fields& f, const TransformerSpec& spec, bool explicit_width) {
  if (!explicit_width && spec.hidden % spec.heads != 0)
    f.refuse(kHeads, "expected attention heads that divide the hidden size " +
                         std::to_string(spec.hidden) + ", found " + std::to_string(spec.heads));
  if (spec.kv_heads > 0 && spec.heads % spec.kv_heads != 0)
    f.refuse({"num_key_value_heads"}, "expected key/value heads that divide the " +
                                          std::to_string(spec.heads) + " attention heads, found " +
                                          std::to_string(spec.kv_heads));
}

TransformerSpec decoder(Fields& f, const char* family, const Defaults& d) {
  TransformerSpec spec = sizes(f, family, d);
  spec.kv_heads =
      f.optional_size({"num_key_value_heads"}, d.kv_heads > 0 ? d.kv_heads : spec.heads,
                      d.kv_heads > 0 ? std::to_string(d.kv_heads) + ", the default of " + f.type()
                                     : "as many as attention heads");
  spec.head_dim = f.optional_size(
      {"head_dim"}, d.head_dim,
      d.head_dim > 0 ? std::to_string(d.head_dim) + ", the default of " + f.type() : "");
  expect_heads(f, spec, spec.head_dim > 0);
  spec.tied = f.flag("tie_word_embeddings", d.tied);
  return spec;
}

Model llama(Fields& f) {
  TransformerSpec spec = decoder(f, "llama", {32000, 4096, 11008, 32, 32, 0, 0, 2048, false});
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.mlp_bias = f.flag("mlp_bias", false);
  return build_decoder(spec);
}

Model mistral(Fields& f) {
  TransformerSpec spec = decoder(f, "mistral", {32000, 4096, 14336, 32, 32, 8, 0, 131072, false});
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  spec.window = f.optional_size({"sliding_window"}, 0, "");
  return build_decoder(spec);
}

Model mixtral(Fields& f) {
  TransformerSpec spec = decoder(f, "mixtral", {32000, 4096, 14336, 32, 32, 8, 0, 131072, false});
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  spec.window = f.optional_size({"sliding_window"}, 0, "");
  spec.experts.count = f.size({"num_local_experts"}, 8);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 2, 1, spec.experts.count);
  spec.experts.ffn = spec.ffn;
  return build_decoder(spec);
}

Model qwen2(Fields& f) {
  TransformerSpec spec = decoder(f, "qwen2", {151936, 4096, 22016, 32, 32, 32, 0, 32768, false});
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  if (f.find({"use_sliding_window"}) && f.flag("use_sliding_window", false))
    spec.window = f.optional_size({"sliding_window"}, 4096, "4096, the default of qwen2");
  return build_decoder(spec);
}

Model qwen3(Fields& f) {
  TransformerSpec spec = decoder(f, "qwen3", {151936, 4096, 22016, 32, 32, 32, 128, 32768, false});
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  return build_decoder(spec);
}

// Returns the number of layers before the experts begin. A block with one count cannot express
// dense layers that alternate with layers of experts.
std::int64_t dense_layers_before_experts(Fields& f, std::int64_t layers) {
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

Model qwen3_moe(Fields& f) {
  TransformerSpec spec = decoder(f, "qwen3", {151936, 2048, 6144, 24, 32, 4, 0, 32768, false});
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.experts.count = f.size({"num_experts", "num_local_experts"}, 128);
  spec.experts.top_k = f.size({"num_experts_per_tok"}, 8, 1, spec.experts.count);
  spec.experts.ffn = f.size({"moe_intermediate_size"}, 768);
  spec.experts.dense_layers = dense_layers_before_experts(f, spec.layers);
  if (spec.experts.dense_layers == 0) spec.ffn = spec.experts.ffn;
  return build_decoder(spec);
}

Model gpt_oss(Fields& f) {
  TransformerSpec spec = decoder(f, "llama", {201088, 2880, 2880, 36, 64, 8, 64, 131072, false});
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", true);
  spec.experts.count = f.size({"num_local_experts", "num_experts"}, 128);
  spec.experts.top_k =
      f.size({"num_experts_per_tok", "experts_per_token"}, 4, 1, spec.experts.count);
  spec.experts.ffn = spec.ffn;
  spec.experts.router_bias = true;
  f.note("biases of the experts (" + std::to_string(2 * spec.ffn + spec.hidden) +
         " per expert) and the sinks of attention (" + std::to_string(spec.heads) +
         " per layer) are not counted");
  f.note(
      "every layer looks at the whole sequence: the sliding window of every second layer is not "
      "modelled");
  return build_decoder(spec);
}

Model gemma(Fields& f) {
  TransformerSpec spec = decoder(f, "gemma", {256000, 3072, 24576, 28, 16, 16, 256, 8192, true});
  spec.activation = activation(f, {"hidden_activation", "hidden_act"}, "gelu_pytorch_tanh", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  return build_decoder(spec);
}

Model gemma2(Fields& f) {
  TransformerSpec spec = decoder(f, "gemma2", {256000, 2304, 9216, 26, 8, 4, 256, 8192, true});
  spec.activation = activation(f, {"hidden_activation", "hidden_act"}, "gelu_pytorch_tanh", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  f.note(
      "every layer looks at the whole sequence: the sliding window of every second layer is not "
      "modelled");
  return build_decoder(spec);
}

Model phi(Fields& f) {
  TransformerSpec spec = decoder(f, "phi", {51200, 2048, 8192, 24, 32, 0, 0, 2048, false});
  spec.activation = activation(f, {"hidden_act"}, "gelu_new", false);
  spec.dropout = f.drops({"resid_pdrop"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  if (const auto normed = f.find({"qk_layernorm"}); normed && normed->boolean())
    normed->refuse("expected false, found true: norms of queries and keys are not known for phi");
  return build_decoder(spec);
}

Model phi3(Fields& f) {
  TransformerSpec spec = decoder(f, "phi3", {32064, 3072, 8192, 32, 32, 0, 0, 4096, false});
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  spec.window = f.optional_size({"sliding_window"}, 0, "");
  spec.dropout = f.drops({"resid_pdrop"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model gpt2(Fields& f) {
  TransformerSpec spec = sizes(f, "gpt2", {50257, 768, 0, 12, 12, 0, 0, 1024, true});
  expect_heads(f, spec, false);
  spec.tied = f.flag("tie_word_embeddings", true);
  spec.activation = activation(f, {"activation_function"}, "gelu_new", false);
  spec.dropout = f.drops({"resid_pdrop"}, 0.1);
  spec.attention_dropout = f.drops({"attn_pdrop"}, 0.1);
  return build_decoder(spec);
}

Model gpt_neox(Fields& f) {
  TransformerSpec spec = sizes(f, "gpt_neox", {50432, 6144, 24576, 44, 64, 0, 0, 2048, false});
  expect_heads(f, spec, false);
  spec.tied = f.flag("tie_word_embeddings", false);
  spec.parallel = f.flag("use_parallel_residual", true);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", true);
  spec.activation = activation(f, {"hidden_act"}, "gelu", false);
  spec.dropout = f.drops({"hidden_dropout"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model opt(Fields& f) {
  TransformerSpec spec = sizes(f, "opt", {50272, 768, 3072, 12, 12, 0, 0, 2048, true});
  expect_heads(f, spec, false);
  spec.tied = f.flag("tie_word_embeddings", true);
  spec.post_norm = !f.flag("do_layer_norm_before", true);
  const auto removed = f.find({"_remove_final_layer_norm"});
  spec.final_norm = !spec.post_norm && !(removed && removed->boolean());
  spec.embedding_width = f.optional_size({"word_embed_proj_dim"}, spec.hidden, "the hidden size");
  spec.qkv_bias = spec.out_bias = spec.mlp_bias = f.flag("enable_bias", true);
  spec.activation = activation(f, {"activation_function"}, "relu", false);
  spec.dropout = f.drops({"dropout"}, 0.1);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

Model bloom(Fields& f) {
  TransformerSpec spec = sizes(f, "bloom", {250880, 64, 0, 2, 8, 0, 0, 0, true});
  expect_heads(f, spec, false);
  spec.sequence =
      f.optional_size({"seq_length"}, 2048, "2048, what the published models were trained with");
  spec.tied = f.flag("tie_word_embeddings", true);
  spec.dropout = f.drops({"hidden_dropout"}, 0.0);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  return build_decoder(spec);
}

std::string architecture(Fields& f) {
  const auto list = f.find({"architectures"});
  if (!list) return "";
  const auto items = list->items();
  return items.empty() ? "" : items[0].text();
}

Model bert(Fields& f) {
  TransformerSpec spec = sizes(f, "bert", {30522, 768, 3072, 12, 12, 0, 0, 512, true});
  expect_heads(f, spec, false);
  spec.token_types = f.size({"type_vocab_size"}, 2);
  spec.activation = activation(f, {"hidden_act"}, "gelu", false);
  spec.dropout = f.drops({"hidden_dropout_prob"}, 0.1);
  spec.attention_dropout = f.drops({"attention_probs_dropout_prob"}, 0.1);
  const std::string head = architecture(f);
  if (head == "BertForMaskedLM") return build_encoder(spec, EncoderHead::MaskedTokens);
  if (head == "BertForPreTraining") return build_encoder(spec, EncoderHead::PoolerAndMaskedTokens);
  if (head != "BertModel")
    f.note("the head is the pooler: " +
           (head.empty() ? "no architecture is given" : head + " is not known"));
  return build_encoder(spec, EncoderHead::Pooler);
}

Model t5(Fields& f) {
  TransformerSpec spec = sizes(f, "t5", {32128, 512, 2048, 6, 8, 0, 0, 0, true});
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
      buckets && buckets->integer(1, kMostConfigSize) != 32)
    buckets->refuse("expected 32 buckets of relative positions, found " +
                    std::to_string(buckets->integer()));
  return build_encoder_decoder(spec);
}

Model vit(Fields& f) {
  TransformerSpec spec = sizes(f, "vit", {0, 768, 3072, 12, 12, 0, 0, 0, false});
  expect_heads(f, spec, false);
  spec.qkv_bias = f.flag("qkv_bias", true);
  spec.activation = activation(f, {"hidden_act"}, "gelu", false);
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
  if (architecture(f) == "ViTModel") {
    image.classes = 0;
  } else if (const auto labels = f.find({"id2label"})) {
    image.classes = std::max<std::int64_t>(1, static_cast<std::int64_t>(labels->keys().size()));
  } else {
    image.classes = f.size({"num_labels"}, 2);
  }
  return build_vision_transformer(spec, image);
}

Model deepseek_v3(Fields& f) {
  TransformerSpec spec = sizes(f, "deepseek_v3", {129280, 7168, 18432, 61, 128, 0, 0, 4096, false});
  spec.tied = f.flag("tie_word_embeddings", false);
  spec.qkv_bias = spec.out_bias = f.flag("attention_bias", false);
  spec.activation = activation(f, {"hidden_act"}, "silu", true);
  ExpertsSpec& experts = spec.experts;
  experts.count = f.size({"n_routed_experts"}, 256);
  experts.top_k = f.size({"num_experts_per_tok"}, 8, 1, experts.count);
  experts.ffn = f.size({"moe_intermediate_size"}, 2048);
  experts.shared = f.size({"n_shared_experts"}, 1, 0, 1024);
  experts.dense_layers = f.size({"first_k_dense_replace"}, 3, 0, spec.layers);
  experts.groups = f.size({"n_group"}, 8, 1, experts.count);
  experts.chosen_groups = f.size({"topk_group"}, 4, 1, experts.groups);
  if (experts.chosen_groups == experts.groups) experts.groups = experts.chosen_groups = 0;
  if (const auto every = f.find({"moe_layer_freq"}); every && every->integer() != 1)
    every->refuse("expected experts in every layer (1), found " + std::to_string(every->integer()));
  LatentSpec& latent = spec.latent;
  latent.q_rank = f.optional_size({"q_lora_rank"}, 0, "queries are projected directly");
  latent.kv_rank = f.size({"kv_lora_rank"}, 512);
  latent.nope = f.size({"qk_nope_head_dim"}, 128);
  latent.rope = f.size({"qk_rope_head_dim"}, 64);
  latent.value = f.size({"v_head_dim"}, 128);
  if (const auto extra = f.find({"num_nextn_predict_layers"});
      extra && extra->integer(0, kMostConfigLayers) > 0)
    f.note("the layer that predicts a second token is left out");
  return build_decoder(spec);
}

struct HfReader {
  const char* type;
  Model (*read)(Fields&);
};

constexpr HfReader kReaders[] = {
    {"llama", llama},
    {"mistral", mistral},
    {"mixtral", mixtral},
    {"qwen2", qwen2},
    {"qwen3", qwen3},
    {"qwen3_moe", qwen3_moe},
    {"gpt_oss", gpt_oss},
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
    {"deepseek_v3", deepseek_v3},
    {"kimi_k2", deepseek_v3},  // uses the same classes and keys under another name
};

const HfReader* find_reader(std::string_view type) {
  for (const HfReader& reader : kReaders)
    if (type == reader.type) return &reader;
  return nullptr;
}

std::string type_of(const JsonCursor& config) {
  const auto type = config.find("model_type");
  return type ? type->text() : "";
}

// Returns the object to read: the root, or the language part of a multimodal model.
JsonCursor text_part(const JsonCursor& root) {
  if (find_reader(type_of(root))) return root;
  for (const char* key : {"text_config", "llm_config", "language_config"})
    if (const auto part = root.find(key)) return *part;
  return root;
}

const HfReader& reader_of(const JsonCursor& config) {
  if (!config.has("model_type"))
    config.refuse("expected a Hugging Face config with the key \"model_type\", found none");
  const JsonCursor type = config.at("model_type");
  if (const HfReader* reader = find_reader(type.text())) return *reader;
  const auto& types = hf_model_types();
  std::string list;
  for (const std::string& known : types) list += (list.empty() ? "" : ", ") + known;
  // "qwen3_next" is not a misspelt qwen3 but another architecture, and a user who followed that
  // suggestion would silently get another model. So a name that extends a known one gets no
  // suggestion.
  const std::string found = type.text();
  const bool own = std::any_of(types.begin(), types.end(), [&](const std::string& known) {
    return found.starts_with(known + "_") || found.starts_with(known + "-");
  });
  type.refuse("expected a model_type that we can read (" + list + "), found \"" +
              found.substr(0, 60) + "\"" +
              (own ? "; it is an architecture of its own: write it as a trainyard/model file"
                   : did_you_mean(found, types)));
}

ImportReport report_of(const JsonCursor& config) {
  ImportReport report;
  for (std::string& key : config.keys()) {
    ++report.fields;
    if (!is_known_hf_key(key)) report.unknown.push_back(std::move(key));
  }
  return report;
}

// Returns "llama-3-70b" for both "models/llama-3-70b/config.json" and "models/llama-3-70b.json".
std::string model_name(std::string_view place, const std::string& fallback) {
  const auto last = [&] {
    const std::size_t slash = place.find_last_of('/');
    return slash == std::string_view::npos ? place : place.substr(slash + 1);
  };
  std::string_view name = last();
  if (name == "config.json") {
    place.remove_suffix(std::min(place.size(), name.size() + 1));
    name = last();
  } else if (name.ends_with(".json")) {
    name.remove_suffix(5);
  }
  return name.empty() || name == "." || name == ".." ? fallback : std::string(name);
}

}  // namespace

std::string ImportReport::sentence() const {
  const std::string all = std::to_string(fields);
  if (unknown.empty()) return "all " + all + " fields recognised";
  std::string list;
  for (const std::string& key : unknown) list += (list.empty() ? "" : ", ") + key;
  return std::to_string(fields - static_cast<int>(unknown.size())) + " of " + all +
         " fields recognised; not known: " + list;
}

const std::vector<std::string>& hf_model_types() {
  static const std::vector<std::string> types = [] {
    std::vector<std::string> list;
    for (const HfReader& reader : kReaders) list.emplace_back(reader.type);
    return list;
  }();
  return types;
}

ImportedModel import_hf_config_with_report(std::string_view text, std::string_view place) {
  const Json document = parse_json(text, place);
  const JsonCursor root(document, std::string(place));
  if (!document.as_object()) root.expected("a Hugging Face config (an object)");
  const JsonCursor config = text_part(root);
  const HfReader& reader = reader_of(config);
  Fields fields(config, reader.type);
  ImportedModel result;
  try {
    result.model = reader.read(fields);
  } catch (const Error& error) {
    if (!error.place().text.empty()) throw;
    config.refuse(error.what());  // an error of a builder does not name the file
  }
  if (parameters(result.model) == std::numeric_limits<std::int64_t>::max())
    config.refuse("expected sizes whose parameters can be counted in 64 bits, found more");
  result.model.name = model_name(place, reader.type);
  result.model.source = std::string(place);
  result.model.assumed = fields.assumed();
  result.report = report_of(config);
  if (!result.report.unknown.empty())
    result.model.assumed.push_back(result.report.sentence() + ", which change nothing here");
  if (config.place() != root.place())
    result.model.assumed.push_back("only the language part of a larger model is read");
  return result;
}

Model import_hf_config(std::string_view text, std::string_view place) {
  return import_hf_config_with_report(text, place).model;
}

}  // namespace trainyard
