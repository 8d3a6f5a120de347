#include "core/io/models/hf_fields.h"

#include <algorithm>

namespace trainyard {
namespace {

constexpr FieldNames kHfHidden = {"hidden_size", "n_embd", "d_model", "n_embed"};
constexpr FieldNames kHfHeads = {"num_attention_heads", "n_head", "num_heads"};
constexpr FieldNames kHfLayers = {"num_hidden_layers", "n_layer", "num_layers"};
constexpr FieldNames kHfFfn = {"intermediate_size", "n_inner", "ffn_dim", "d_ff"};
constexpr FieldNames kHfPositions = {"max_position_embeddings", "n_positions", "n_ctx",
                                     "seq_length"};

constexpr const char* kGelus[] = {"gelu",       "gelu_new",    "gelu_fast",    "gelu_pytorch_tanh",
                                  "quick_gelu", "gelu_python", "gelu_accurate"};

}  // namespace

Activation hf_activation(HfFields& f, FieldNames names, const char* fallback, bool gated) {
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
  if (name == "relu2" && !gated) return Activation::SquaredRelu;
  std::vector<std::string> known(std::begin(kGelus), std::end(kGelus));
  known.insert(known.end(), {"silu", "swish", "relu"});
  if (!gated) known.push_back("relu2");
  f.find(names)->one_of(known);
  return Activation::Gelu;
}

TransformerSpec hf_sizes(HfFields& f, const char* family, const HfDefaults& d) {
  TransformerSpec spec = family_spec(family);
  spec.layers = f.size(kHfLayers, d.layers, 1, kMostHfLayers);
  spec.hidden = f.size(kHfHidden, d.hidden);
  spec.heads = f.size(kHfHeads, d.heads);
  if (d.ffn > 0) {
    spec.ffn = f.size(kHfFfn, d.ffn);
  } else {
    spec.ffn = f.optional_size(kHfFfn, 4 * spec.hidden, "4 times the hidden size");
  }
  if (d.vocab > 0) spec.vocab = f.size({"vocab_size"}, d.vocab);
  if (d.sequence > 0) spec.sequence = f.size(kHfPositions, d.sequence);
  return spec;
}

void expect_hf_heads(HfFields& f, const TransformerSpec& spec, bool explicit_width) {
  if (!explicit_width && spec.hidden % spec.heads != 0)
    f.refuse(kHfHeads, "expected attention heads that divide the hidden size " +
                           std::to_string(spec.hidden) + ", found " + std::to_string(spec.heads));
  if (spec.kv_heads > 0 && spec.heads % spec.kv_heads != 0)
    f.refuse({"num_key_value_heads"}, "expected key/value heads that divide the " +
                                          std::to_string(spec.heads) + " attention heads, found " +
                                          std::to_string(spec.kv_heads));
}

TransformerSpec hf_decoder(HfFields& f, const char* family, const HfDefaults& d) {
  TransformerSpec spec = hf_sizes(f, family, d);
  spec.kv_heads =
      f.optional_size({"num_key_value_heads"}, d.kv_heads > 0 ? d.kv_heads : spec.heads,
                      d.kv_heads > 0 ? std::to_string(d.kv_heads) + ", the default of " + f.type()
                                     : "as many as attention heads");
  spec.head_dim = f.optional_size(
      {"head_dim"}, d.head_dim,
      d.head_dim > 0 ? std::to_string(d.head_dim) + ", the default of " + f.type() : "");
  expect_hf_heads(f, spec, spec.head_dim > 0);
  spec.tied = f.flag("tie_word_embeddings", d.tied);
  return spec;
}

std::string hf_architecture(HfFields& f) {
  const auto list = f.find({"architectures"});
  if (!list) return "";
  const auto items = list->items();
  return items.empty() ? "" : items[0].text();
}

std::vector<LayerKind> hf_windows(HfFields& f, std::int64_t layers, std::int64_t window,
                                  const std::function<bool(std::int64_t)>& slides) {
  std::vector<LayerKind> pattern(static_cast<std::size_t>(layers));
  const auto list = f.find({"layer_types"});
  const std::vector<JsonCursor> types = list ? list->items() : std::vector<JsonCursor>();
  if (list && types.size() != pattern.size())
    list->refuse("expected the type of each of " + std::to_string(layers) + " layers, found " +
                 std::to_string(types.size()));
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (!list) {
      if (slides(static_cast<std::int64_t>(i))) pattern[i].window = window;
      continue;
    }
    const std::string type =
        types[i].one_of({"full_attention", "sliding_attention", "chunked_attention"});
    if (type == "sliding_attention") pattern[i].window = window;
    if (type == "chunked_attention") pattern[i].chunk = window;
  }
  return pattern;
}

}  // namespace trainyard
