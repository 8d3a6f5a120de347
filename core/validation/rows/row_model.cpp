// This file makes the model that a row trained: from its columns, and where they are blank from the
// published shape of the model that it names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/model/edit.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/presets.h"
#include "core/model/zoo/zoo.h"
#include "core/validation/rows/row_parts.h"

namespace trainyard {
namespace {

// These are shapes that their authors published and that are not in the zoo; a column of the row
// takes precedence.
struct Published {
  std::string_view word;    // beginning of the row's model, with both in the form of model_word()
  std::string_view family;  // a name of transformer_families()
  std::int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
  ExpertsSpec experts = {};
  LatentSpec latent = {};
  std::int64_t half_window = 0;  // every second layer attends to only this many tokens; 0 = all
                                 // layers attend to all
  bool half_routed = false;      // every second layer has no experts, starting with the first
};

constexpr Published kPublished[] = {
    {"llama2-arch-34b", "llama", 48, 8192, 64, 8, 128, 22016, 32000},
    {"deepseek-v3-16b",
     "deepseek_v3",
     27,
     2048,
     16,
     16,
     0,
     10944,
     102400,
     {64, 6, 1408, 2, 1, true},
     {0, 512, 128, 64, 128}},
    {"gpt-oss-120b",
     "llama",
     36,
     2880,
     64,
     8,
     64,
     2880,
     201088,
     {128, 4, 2880, 0, 0, false},
     {},
     128},
    {"gpt-oss-20b",
     "llama",
     24,
     2880,
     64,
     8,
     64,
     2880,
     201088,
     {32, 4, 2880, 0, 0, false},
     {},
     128},
    {"llama-4-scout", "llama", 48, 5120, 40, 8, 128, 16384, 202048, {16, 1, 8192, 1, 0, false}},
    {"llama-4-maverick",
     "llama",
     48,
     5120,
     40,
     8,
     128,
     16384,
     202048,
     {128, 1, 8192, 1, 0, false},
     {},
     0,
     true},
    {"moonlight-16b",
     "deepseek_v3",
     27,
     2048,
     16,
     16,
     0,
     11264,
     163840,
     {64, 6, 1408, 2, 1, true},
     {0, 512, 128, 64, 128}},
    {"qwen1.5-moe-a2.7b", "qwen2", 24, 2048, 16, 16, 128, 5632, 151936, {60, 4, 1408, 4, 0, false}},
    {"opt-350m", "opt", 24, 1024, 16, 16, 64, 4096, 50272},
    {"gpt-neo-2.7b", "gpt2", 32, 2560, 20, 20, 128, 10240, 50257},
    {"gpt-neo", "gpt2", 32, 2560, 20, 20, 128, 10240, 50257},
    {"maxtext-gpt-16b", "maxtext", 36, 6144, 24, 24, 256, 24576, 32768},
    {"maxtext-gpt-32b", "maxtext", 40, 8192, 32, 32, 256, 32768, 32768},
    {"bert-large", "bert", 24, 1024, 16, 16, 64, 4096, 30528},
};

// These are models that no transformer of these families can express.
struct Other {
  std::string_view phrase, reason;
};
constexpr Other kOthers[] = {
    {"resnet", "a convolution network"},
    {"amoebanet", "a convolution network"},
    {"u-net", "a convolution network"},
    {"ssd", "a convolution network"},
    {"mask-r-cnn", "a convolution network"},
    {"maskrcnn", "a convolution network"},
    {"gnmt", "a translation model, whose sentences differ in length"},
    {"transformer-big", "a translation model, whose sentences differ in length"},
    {"transformer-48", "a translation model, whose sentences differ in length"},
    {"dlrm", "a recommender, whose tables are not stated"},
    {"minigo", "reinforcement learning"},
    {"nemotron", "a hybrid whose shape is not in the table"},
    {"qwen3-next", "a hybrid whose shape is not in the table"},
    {"mamba", "a hybrid whose shape is not in the table"},
    {"size-not-stated", "a model whose size is not stated"},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns a name in a form that is equal for all spellings: lower case and no punctuation but a
// dash between numbers, so that 3.1 and 8B do not become 318B.
std::string model_word(std::string_view name) {
  std::string word;
  bool parted = false;
  for (const char c : row_word(name)) {
    const bool counts = is_digit(c) || (c >= 'a' && c <= 'z');
    if (counts && parted && !word.empty() && is_digit(word.back()) && is_digit(c)) word += '-';
    if (counts) word += c;
    parted = !counts;
  }
  return word;
}

// A Spelling is a source's name for a model of the zoo.
struct Spelling {
  std::string_view word, name;
};
constexpr Spelling kSpellings[] = {
    {"llama2-arch-7b", "llama-2-7b"},   {"llama2-arch-13b", "llama-2-13b"},
    {"llama2-arch-70b", "llama-2-70b"}, {"llama-65b", "llama-1-65b"},
    {"llama3-405b", "llama-3.1-405b"},  {"qwen3-30b", "qwen3-30b-a3b"},
    {"qwen3-235b", "qwen3-235b-a22b"}};

Published published_in_zoo(std::string_view word, const ZooEntry& entry) {
  const TransformerSpec spec = entry.spec(entry);
  return {word,          entry.family, spec.layers,
          spec.hidden,   spec.heads,   spec.kv_heads > 0 ? spec.kv_heads : spec.heads,
          spec.head_dim, spec.ffn,     spec.vocab,
          spec.experts,  spec.latent};
}

const std::vector<Published>& all_published() {
  static const std::vector<Published> all = [] {
    std::vector<Published> list(std::begin(kPublished), std::end(kPublished));
    const auto add = [&](std::string_view word, const ZooEntry& entry) {
      if (entry.spec != nullptr && std::none_of(list.begin(), list.end(),
                                                [&](const Published& p) { return p.word == word; }))
        list.push_back(published_in_zoo(word, entry));
    };
    for (const Spelling& s : kSpellings) add(s.word, *find_in_zoo(s.name));
    // "GPT2-like 7.5B" means the family and not the model of that name.
    for (const ZooEntry& entry : zoo())
      if (entry.name != entry.family) add(entry.name, entry);
    return list;
  }();
  return all;
}

// Returns the shape with the longest word with which the row's model begins. A shape of another
// width is another model, whatever its name: a "DeepSeek-V3 of 16B" is not the 671B model with some
// columns changed.
const Published* published(const MeasuredRow& row) {
  const std::string name = model_word(row.model_family);
  const Published* best = nullptr;
  std::size_t longest = 0;
  for (const Published& p : all_published()) {
    const std::string word = model_word(p.word);
    if (word.size() <= longest || !name.starts_with(word) ||
        row.hidden.value_or(p.hidden) != p.hidden)
      continue;
    best = &p, longest = word.size();
  }
  return best;
}

std::string_view base_family(const MeasuredRow& row, const Published* known) {
  if (known != nullptr && known->family != "maxtext") return known->family;
  const std::string word = row_word(row.model_family);
  struct Family {
    std::string_view phrase, family;
  };
  constexpr Family kFamilies[] = {
      {"maxtext", "llama"},   {"llama", "llama"},       {"mistral", "mistral"},
      {"mixtral", "mixtral"}, {"qwen", "qwen3"},        {"deepseek", "deepseek_v3"},
      {"bloom", "bloom"},     {"bert", "bert"},         {"opt", "opt"},
      {"gemma", "gemma"},     {"gpt-neox", "gpt_neox"}, {"t5", "t5"},
  };
  for (const Family& f : kFamilies)
    if (mentions(word, f.phrase)) return f.family;
  return "gpt2";
}

// Megatron pads vocabularies to a multiple of 128 times the tensor ranks.
std::int64_t padded(std::int64_t vocab, const MeasuredRow& row) {
  if (!mentions(row.framework, "megatron") && !mentions(row.framework, "nemo")) return vocab;
  const std::int64_t unit = 128 * row.tp.value_or(1);
  return (vocab + unit - 1) / unit * unit;
}

std::int64_t vocabulary(const MeasuredRow& row, std::string_view family, const Published* known,
                        std::vector<Assumption>& assumptions) {
  if (row.vocab) return padded(*row.vocab, row);
  if (known != nullptr) return padded(known->vocab, row);
  std::int64_t vocab = 50257;
  std::string why = "not stated; GPT-2's, padded as the framework does";
  if (family == "bloom") vocab = 250880, why = "not stated; BLOOM's";
  if (family == "llama") vocab = 32000, why = "not stated; Llama 2's";
  vocab = padded(vocab, row);
  assumptions.push_back({"vocab", std::to_string(vocab), why});
  return vocab;
}

std::int64_t parameters_of(const TransformerSpec& spec) { return parameters(build_decoder(spec)); }

// Returns the number of layers that the stated size leaves beside the embedding, as the nearest
// multiple of the stages.
std::int64_t layers_of_size(const MeasuredRow& row, const TransformerSpec& spec,
                            std::vector<Assumption>& assumptions) {
  if (!row.parameters_billion) throw Error(Error::Kind::Unsupported, "states no layers");
  TransformerSpec one = spec, two = spec;
  one.layers = 1, two.layers = 2;
  const std::int64_t first = parameters_of(one), second = parameters_of(two);
  const double wanted = 1 + (*row.parameters_billion * 1e9 - static_cast<double>(first)) /
                                static_cast<double>(second - first);
  const double stages = static_cast<double>(row.pp.value_or(1));
  const auto layers = std::max<std::int64_t>(1, std::llround(wanted / stages)) * row.pp.value_or(1);
  assumptions.push_back({"layers", std::to_string(layers),
                         fmt::format("not stated; the multiple of {} stages nearest to {:g} "
                                     "billion parameters",
                                     stages, *row.parameters_billion)});
  return layers;
}

// Returns whether head and embedding share a table changes the size of a small model by some
// percent, so it is inferred from the stated size where only one of the two reproduces that.
bool tied(const MeasuredRow& row, TransformerSpec spec) {
  if (!row.parameters_billion || spec.experts.count > 0) return spec.tied;
  const double stated = *row.parameters_billion * 1e9;
  const auto off = [&](bool is_tied) {
    spec.tied = is_tied;
    return std::abs(static_cast<double>(parameters_of(spec)) / stated - 1);
  };
  const bool usual = spec.tied;
  const double as_usual = off(usual), otherwise = off(!usual);
  return as_usual > 0.006 && 2 * otherwise < as_usual ? !usual : usual;
}

std::int64_t heads_of(const MeasuredRow& row, std::int64_t hidden,
                      std::vector<Assumption>& assumptions) {
  std::int64_t width = 128;
  while (width > 1 && hidden % width != 0) --width;
  const std::int64_t heads = hidden / width;
  assumptions.push_back(
      {"heads", std::to_string(heads), fmt::format("not stated; {} wide, the commonest", width)});
  if (row.tp && heads % *row.tp != 0)
    throw Error(Error::Kind::Unsupported, "states no attention heads");
  return heads;
}

void set_experts(TransformerSpec& spec, const MeasuredRow& row, const Published* known) {
  if (known != nullptr) spec.experts = known->experts, spec.latent = known->latent;
  if (row.experts) spec.experts.count = *row.experts;
  if (row.top_k && spec.experts.count > 0) spec.experts.top_k = *row.top_k;
  if (row.shared_experts) spec.experts.shared = *row.shared_experts;
  if (row.dense_layers) spec.experts.dense_layers = *row.dense_layers;
  ExpertsSpec& experts = spec.experts;
  if (experts.count == 0) return;
  if (experts.top_k == 0)
    throw Error(Error::Kind::Unsupported, "routed experts without how many a token meets");
  // All layers of Mixtral are routed, so its only width is that of an expert. Elsewhere a row's
  // width may be that of the layers, with shared experts or leading dense layers besides.
  if (row.expert_ffn)
    experts.ffn = *row.expert_ffn;
  else if (experts.ffn == 0 && spec.family == "mixtral")
    experts.ffn = spec.ffn;
  if (experts.ffn == 0)
    throw Error(Error::Kind::Unsupported,
                "routed experts whose width is not stated (column expert_ffn_hidden)");
}

TransformerSpec spec_of(const MeasuredRow& row, std::vector<Assumption>& assumptions) {
  const Published* known = published(row);
  const std::string_view family = base_family(row, known);
  TransformerSpec spec = family_spec(family);
  const bool maxtext = mentions(row.framework, "maxtext") && known != nullptr;
  // The frameworks' own GPTs have no dropout while throughput is measured and no gates as in Llama.
  if (mentions(row.model_family, "mpt") || mentions(row.notes, "no dropout"))
    spec.dropout = spec.attention_dropout = false;
  if (maxtext && known->family == "maxtext") spec.activation = Activation::Relu, spec.tied = true;
  spec.name = row.id;
  spec.source = row.source;
  const auto take = [&](const std::optional<std::int64_t>& column, std::int64_t shape) {
    return column ? *column : known != nullptr ? shape : std::int64_t{0};
  };
  spec.hidden = take(row.hidden, known != nullptr ? known->hidden : 0);
  if (spec.hidden == 0) throw Error(Error::Kind::Unsupported, "states no hidden size");
  spec.heads = take(row.heads, known != nullptr ? known->heads : 0);
  if (spec.heads == 0) spec.heads = heads_of(row, spec.hidden, assumptions);
  // The width and groups of published heads apply only with the published number of heads.
  const bool same_heads = known != nullptr && spec.heads == known->heads;
  spec.kv_heads = take(row.kv_heads, same_heads ? known->kv_heads : 0);
  if (same_heads) spec.head_dim = known->head_dim;
  spec.ffn = take(row.ffn, known != nullptr ? known->ffn : 0);
  // Some sources state an expert's width as the model's.
  if (known != nullptr && known->experts.count > 0 && row.ffn == known->experts.ffn)
    spec.ffn = known->ffn;
  if (known != nullptr && !same_heads && !row.kv_heads && known->kv_heads != known->heads)
    throw Error(Error::Kind::Unsupported,
                fmt::format("states {} heads and not how many of keys and values, which {} shares "
                            "among {}",
                            spec.heads, known->word, known->heads));
  if (spec.ffn == 0) {
    const bool gated =
        spec.activation == Activation::GatedSilu || spec.activation == Activation::GatedGelu;
    if (gated) throw Error(Error::Kind::Unsupported, "states no feed-forward size");
    spec.ffn = 4 * spec.hidden;
  }
  spec.sequence = row.sequence.value_or(2048);
  spec.vocab = vocabulary(row, family, known, assumptions);
  spec.layers = 1;
  spec.layers = take(row.layers, known != nullptr ? known->layers : 0);
  set_experts(spec, row, known);
  if (spec.layers == 0) spec.layers = layers_of_size(row, spec, assumptions);
  if (family != "bert") spec.tied = tied(row, spec);
  return spec;
}

// Half of the layers have a sliding window. They are put first, because their position affects only
// the balance of stages.
Model with_windows(TransformerSpec spec, std::int64_t window) {
  const std::int64_t layers = spec.layers;
  spec.layers = (layers + 1) / 2;
  spec.window = window;
  Model model = build_decoder(spec);
  spec.layers = layers - spec.layers;
  spec.window = 0;
  const Model whole = build_decoder(spec);
  for (std::size_t b = 0; b < whole.blocks.size(); ++b)
    if (whole.blocks[b].layer) {
      Block block = whole.blocks[b];
      block.name = "whole_" + block.name;
      model.blocks.insert(model.blocks.end() - 1, std::move(block));
    }
  return model;
}

// Makes layers without and with experts alternate.
Model with_every_second_routed(TransformerSpec spec) {
  const std::int64_t layers = spec.layers;
  spec.layers = 1;
  Model model = build_decoder(spec);
  spec.experts = {};
  const Model dense = build_decoder(spec);
  const auto layer_of = [](const Model& m) {
    return std::find_if(m.blocks.begin(), m.blocks.end(), [](const Block& b) { return b.layer; });
  };
  const Block kinds[] = {*layer_of(dense), *layer_of(model)};
  auto at = model.blocks.erase(layer_of(model));
  for (std::int64_t i = 0; i < layers; ++i) {
    Block block = kinds[i % 2];
    block.name += fmt::format("_{}", i);
    at = model.blocks.insert(at, std::move(block)) + 1;
  }
  return model;
}

constexpr std::int64_t kMaskedPercent = 15;  // share of positions that BERT predicts (Devlin et al.
                                             // 2019)

// A row may name a model by the words of --model, for networks that the columns cannot express.
constexpr std::string_view kByName = "trainyard:";

Model named_model(std::string_view words) {
  return names_preset(words) ? preset_model(words) : zoo_model(words);
}

Model model_of(const MeasuredRow& row, std::vector<Assumption>& assumptions) {
  if (row.model_family.starts_with(kByName))
    return named_model(std::string_view(row.model_family).substr(kByName.size()));
  const TransformerSpec spec = spec_of(row, assumptions);
  if (spec.family == "bert")
    return with_share_of_positions(build_encoder(spec, EncoderHead::MaskedTokens), "head",
                                   kMaskedPercent);
  if (spec.family == "t5")
    throw Error(Error::Kind::Unsupported, "an encoder-decoder, whose halves are not stated");
  const Published* known = published(row);
  Model model = known != nullptr && known->half_window > 0 ? with_windows(spec, known->half_window)
                : row.routed_every.value_or(known != nullptr && known->half_routed ? 2 : 1) > 1
                    ? with_every_second_routed(spec)
                    : build_decoder(spec);
  // A single layer was timed, without embedding and head.
  if (row.metric == "layer_fwd_bwd_ms")
    std::erase_if(model.blocks, [](const Block& b) { return !b.layer; });
  return model;
}

}  // namespace

bool is_routed(const Model& model) { return active_parameters(model) != parameters(model); }

Model row_model(const MeasuredRow& row, std::vector<Assumption>& assumptions) {
  const std::string word = row_word(row.model_family);
  for (const Other& other : kOthers)
    if (!word.starts_with(kByName) && mentions(word, other.phrase))
      throw Error(Error::Kind::Unsupported, std::string(other.reason));
  try {
    return model_of(row, assumptions);
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::Unsupported) throw;
    throw Error(Error::Kind::Unsupported, fmt::format("a shape that cannot be: {}", error.what()));
  }
}

}  // namespace trainyard
