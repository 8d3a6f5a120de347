#include "core/model/zoo/presets.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/model/zoo/builders.h"
#include "core/model/zoo/vision.h"

namespace trainyard {
namespace {

using View = std::string_view;
using Values = std::vector<std::int64_t>;

constexpr std::int64_t kMostWidth = 1 << 20, kMostRows = 1 << 28, kMostLayers = 10'000;

Model cnn(const Values& v) {
  return build_convnet({.name = "cnn",
                        .image = v[0],
                        .channels = v[1],
                        .classes = v[2],
                        .width = v[3],
                        .stages = v[4],
                        .blocks = v[5]});
}

Model rnn(const Values& v) {
  return build_lstm(
      {.name = "rnn", .vocab = v[0], .hidden = v[1], .layers = v[2], .sequence = v[3]});
}

Model seq2seq(const Values& v) {
  TransformerSpec spec = family_spec("transformer");
  spec.name = "seq2seq";
  spec.layers = v[0];
  spec.decoder_layers = v[1];
  spec.hidden = v[2];
  spec.heads = v[3];
  spec.ffn = v[4];
  spec.vocab = v[5];
  spec.sequence = v[6];
  return build_encoder_decoder(spec);
}

Model recommender(const Values& v) {
  RecommenderSpec spec;
  spec.name = "recommender";
  spec.tables.assign(static_cast<std::size_t>(v[0]), v[1]);
  spec.width = v[2];
  spec.dense = v[3];
  spec.bottom = {v[4], v[2]};
  spec.top = {v[5], v[5], 1};
  return build_recommender(spec);
}

TransformerSpec decoder_spec(const char* family, const char* name, const Values& v) {
  TransformerSpec spec = family_spec(family);
  spec.name = name;
  spec.layers = v[0];
  spec.hidden = v[1];
  spec.heads = v[2];
  spec.kv_heads = v[3];
  spec.ffn = v[4];
  spec.vocab = v[5];
  spec.sequence = v[6];
  return spec;
}

Model decoder_of(const Values& v) { return build_decoder(decoder_spec("llama", "transformer", v)); }

// The tower is that of Qwen2-VL, with one frame an image.
Model vision_language(const Values& v) {
  VisionSpec tower = vision_family("qwen2_vl");
  tower.images = v[7], tower.image = v[8], tower.patch = v[9], tower.channels = v[10];
  tower.frames = 1;
  tower.layers.layers = v[11], tower.layers.hidden = v[12], tower.layers.heads = v[13];
  tower.layers.ffn = 4 * v[12];
  tower.projector[1].size = v[14];
  return with_vision(build_decoder(decoder_spec("llama", "vision-language", v)), tower);
}

Model moe(const Values& v) {
  TransformerSpec spec = decoder_spec("mixtral", "moe", v);
  spec.experts.count = v[7];
  spec.experts.top_k = v[8];
  spec.experts.ffn = v[4];
  return build_decoder(spec);
}

std::vector<PresetSize> decoder_sizes(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                                      std::int64_t kv_heads, std::int64_t ffn) {
  return {{"layers", layers, 1, kMostLayers, "layers", "decoder layers"},
          {"hidden", hidden, 1, kMostWidth, "", "width of what flows between layers"},
          {"heads", heads, 1, 4096, "heads", "attention heads; they divide hidden"},
          {"kv-heads", kv_heads, 1, 4096, "heads", "key/value heads; they divide heads"},
          {"ffn", ffn, 1, kMostWidth, "", "width inside the feed-forward part"},
          {"vocab", 32000, 2, kMostRows, "tokens", "rows of the token table"},
          {"seq", 2048, 1, kMostRows, "tokens", "longest sequence"}};
}

std::vector<Preset> make_presets() {
  std::vector<PresetSize> moe_sizes = decoder_sizes(24, 2048, 16, 8, 7168);
  moe_sizes.push_back({"experts", 8, 2, 65536, "experts", "in every layer"});
  moe_sizes.push_back({"top-k", 2, 1, 65536, "experts", "that each token meets"});
  std::vector<PresetSize> vision_sizes = decoder_sizes(24, 2048, 16, 16, 5632);
  vision_sizes.insert(
      vision_sizes.end(),
      {{"images", 1, 1, 4096, "images", "of a sample"},
       {"image", 448, 1, 65536, "pixels", "height and width of an image"},
       {"patch", 14, 1, 4096, "pixels", "height and width of a patch"},
       {"channels", 3, 1, 4096, "", "of an image"},
       {"tower-layers", 24, 1, kMostLayers, "layers", "layers of the vision tower"},
       {"tower-hidden", 1024, 1, kMostWidth, "", "width of the tower's tokens"},
       {"tower-heads", 16, 1, 4096, "heads", "attention heads; they divide tower-hidden"},
       {"merge", 2, 1, 1024, "patches", "side of the square of patches that becomes one token"}});
  return {
      {"cnn",
       "Convolutional network",
       "residual network over square images (He et al. 2015), width doubled at each stage",
       {{"image", 32, 4, 4096, "pixels", "height and width of an image"},
        {"channels", 3, 1, 4096, "", "of an image"},
        {"classes", 10, 2, kMostWidth, "classes", "told apart at the end"},
        {"width", 64, 1, 8192, "channels", "of the first stage"},
        {"stages", 3, 1, 8, "stages", "each halves the image"},
        {"blocks", 2, 1, 1000, "blocks", "residual blocks in a stage"}},
       cnn},
      {"rnn",
       "Recurrent network",
       "language model of long short-term memory (Hochreiter and Schmidhuber 1997)",
       {{"vocab", 256, 2, kMostRows, "tokens", "rows of the token table"},
        {"hidden", 512, 1, kMostWidth, "", "width of table and memory"},
        {"layers", 2, 1, kMostLayers, "layers", "of memory"},
        {"seq", 256, 1, kMostRows, "tokens", "longest sequence"}},
       rnn},
      {"seq2seq",
       "Sequence to sequence",
       "encoder and decoder with attention between them (Vaswani et al. 2017)",
       {{"layers", 6, 1, kMostLayers, "layers", "of the encoder"},
        {"decoder-layers", 6, 1, kMostLayers, "layers", "of the decoder"},
        {"hidden", 512, 1, kMostWidth, "", "width of what flows between layers"},
        {"heads", 8, 1, 4096, "heads", "attention heads; they divide hidden"},
        {"ffn", 2048, 1, kMostWidth, "", "width inside the feed-forward part"},
        {"vocab", 37000, 2, kMostRows, "tokens", "rows of the token table"},
        {"seq", 512, 1, kMostRows, "tokens", "longest sequence"}},
       seq2seq},
      {"recommender",
       "Recommender",
       "tables joined by dot products between two networks (Naumov et al. 2019)",
       {{"tables", 26, 1, 1000, "tables", "one for each categorical feature"},
        {"rows", 1'000'000, 1, kMostRows, "rows", "of each table"},
        {"width", 64, 1, 8192, "", "of a row"},
        {"dense", 13, 1, kMostWidth, "", "numeric features"},
        {"bottom", 512, 1, kMostWidth, "", "width of the network before the tables"},
        {"top", 512, 1, kMostWidth, "", "width of the network behind them"}},
       recommender},
      {"transformer", "Transformer", "decoder as Llama has it (Touvron et al. 2023)",
       decoder_sizes(24, 2048, 16, 16, 5632), decoder_of},
      {"moe", "Mixture of experts",
       "decoder with routed experts in every layer, as Mixtral has it (Jiang et al. 2024)",
       std::move(moe_sizes), moe},
      {"vision-language", "Vision-language model",
       "images through a tower into the sequence of a decoder, as Qwen2-VL has it (Wang et al. "
       "2024)",
       std::move(vision_sizes), vision_language},
  };
}

const Preset* find_preset(View name) {
  for (const Preset& preset : presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

std::string quoted_size(View text) { return "\"" + std::string(text.substr(0, 60)) + "\""; }

std::size_t find_size(View owner, std::span<const PresetSize> sizes, View name) {
  std::vector<View> names;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].name == name) return i;
    names.push_back(sizes[i].name);
  }
  refuse("no size of " + std::string(owner) + " is called " + quoted_size(name) +
         did_you_mean(name, names));
}

std::int64_t read_size(const PresetSize& size, View text) {
  const std::string name(size.name);
  std::int64_t value = 0;
  try {
    value = parse_integer(text);
  } catch (const Error& error) {
    refuse(name + ": " + error.what());
  }
  if (value < size.low || value > size.high)
    refuse(name + ": expected a whole number from " + std::to_string(size.low) + " to " +
           std::to_string(size.high) + ", found " + std::to_string(value));
  return value;
}

Model read_words(View words) {
  const std::size_t colon = std::min(words.find(':'), words.size());
  const View name = words.substr(0, colon);
  const Preset* preset = find_preset(name);
  if (preset == nullptr) {
    std::vector<View> names;
    for (const Preset& known : presets()) names.push_back(known.name);
    std::string all;
    for (const View known : names) all += (all.empty() ? "" : ", ") + std::string(known);
    refuse("expected one of the presets " + all + " before the colon, found " + quoted_size(name) +
           did_you_mean(name, names));
  }
  const Values values = read_sizes(preset->name, preset->sizes,
                                   colon < words.size() ? words.substr(colon + 1) : View());
  Model model = preset->build(values);
  model.name = preset_words(*preset, values);
  model.source = "preset " + std::string(preset->name) + ": " + std::string(preset->doc);
  return model;
}

}  // namespace

std::vector<std::int64_t> read_sizes(View owner, std::span<const PresetSize> sizes, View words) {
  Values values;
  for (const PresetSize& size : sizes) values.push_back(size.usual);
  std::vector<bool> seen(values.size());
  for (std::size_t start = 0; start < words.size();) {
    const std::size_t end = std::min(words.find(',', start), words.size());
    const View part = words.substr(start, end - start);
    const std::size_t equals = part.find('=');
    if (equals == View::npos)
      refuse("a size is written NAME=NUMBER, as " + std::string(sizes[0].name) + "=" +
             std::to_string(sizes[0].usual) + ", not " + quoted_size(part));
    const std::size_t at = find_size(owner, sizes, part.substr(0, equals));
    if (seen[at]) refuse(std::string(sizes[at].name) + " is given twice");
    seen[at] = true;
    values[at] = read_size(sizes[at], part.substr(equals + 1));
    start = end + 1;
  }
  return values;
}

std::span<const Preset> presets() {
  static const std::vector<Preset> list = make_presets();
  return list;
}

bool names_preset(View words) {
  const std::size_t colon = words.find(':');
  if (colon == View::npos) return find_preset(words) != nullptr;
  return words.substr(0, colon).find_first_of("/.\\{ ") == View::npos;
}

Model preset_model(View words) {
  try {
    return read_words(words);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), Place{"model " + quoted_size(words)});
  }
}

std::string preset_words(const Preset& preset, const Values& values) {
  std::string words(preset.name);
  char before = ':';
  for (std::size_t i = 0; i < preset.sizes.size(); ++i) {
    if (values[i] == preset.sizes[i].usual) continue;
    words += before + std::string(preset.sizes[i].name) + "=" + std::to_string(values[i]);
    before = ',';
  }
  return words;
}

}  // namespace trainyard
