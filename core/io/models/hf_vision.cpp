#include "core/io/models/hf_vision.h"

#include <algorithm>

namespace trainyard {
namespace {

// The class of a tower's config takes these for missing keys; 0 = it has no such key.
struct TowerDefaults {
  std::int64_t hidden, ffn, layers, heads, image, patch;
};

struct Tower {
  HfFields& root;
  HfFields& own;  // the fields of vision_config
  std::int64_t decoder_width;
};
using ReadTower = std::optional<VisionSpec> (*)(Tower&);

// Reads the side of a square, which may be written as height and width.
std::int64_t square_side(HfFields& f, const char* name, std::int64_t fallback) {
  constexpr std::int64_t kMostPixels = 65536;
  const auto field = f.find({name});
  if (!field || field->value().as_list() == nullptr)
    return f.size({name}, fallback, 1, kMostPixels);
  const std::vector<JsonCursor> sides = field->items();
  if (sides.size() != 2)
    field->refuse("expected a height and a width, found " + std::to_string(sides.size()) +
                  " numbers");
  const std::int64_t height = sides[0].integer(1, kMostPixels);
  if (sides[1].integer(1, kMostPixels) != height)
    sides[1].refuse("expected a square, whose width is its height " + std::to_string(height) +
                    ", found " + std::to_string(sides[1].integer()));
  return height;
}

void read_layers(Tower& t, VisionSpec& v, const TowerDefaults& d, const char* act, bool gated,
                 FieldNames hidden = {"hidden_size"}) {
  HfFields& f = t.own;
  TransformerSpec& spec = v.layers;
  spec.hidden = f.size(hidden, d.hidden);
  spec.layers = f.size({"num_hidden_layers", "depth"}, d.layers, 1, kMostHfLayers);
  spec.heads = f.size({"num_attention_heads", "num_heads"}, d.heads);
  if (d.ffn > 0) spec.ffn = f.size({"intermediate_size"}, d.ffn);
  spec.head_dim = f.optional_size({"head_dim"}, 0, "");
  expect_hf_heads(f, spec, spec.head_dim > 0);
  spec.activation = hf_activation(f, {"hidden_act"}, act, gated);
  spec.attention_dropout = f.drops({"attention_dropout"}, 0.0);
  v.channels = f.size({"num_channels", "in_channels", "in_chans"}, 3, 1, 4096);
  v.patch = square_side(f, "patch_size", d.patch);
  if (d.image > 0) v.image = square_side(f, "image_size", d.image);
}

// Layers behind the one whose output the projector reads give nothing, and are never trained.
void leave_out_last_layers(Tower& t, VisionSpec& v, std::int64_t usual) {
  std::int64_t index = usual;
  const std::int64_t layers = v.layers.layers;
  if (const auto field = t.root.find({"vision_feature_layer"}))
    index = field->integer(-layers, layers);
  const std::int64_t kept = index < 0 ? layers + 1 + index : index;
  if (kept < 1)
    t.root.refuse({"vision_feature_layer"}, "expected a layer of the tower's " +
                                                std::to_string(layers) + ", found " +
                                                std::to_string(index));
  v.layers.layers = kept;
  if (kept < layers)
    t.root.note("the projector reads the output of layer " + std::to_string(kept) + " of the " +
                std::to_string(layers) +
                " of the vision tower: what is behind it gives nothing and is left out");
}

// The convolution leaves out pixels that make no whole patch.
void read_whole_patches(Tower& t, VisionSpec& v) {
  const std::int64_t left = v.image % v.patch;
  if (left == 0 || left == v.image) return;
  v.image -= left;
  t.root.note("the last " + std::to_string(left) + " pixels of an image make no patch of " +
              std::to_string(v.patch) + " and are not read: its side is " +
              std::to_string(v.image));
}

// SigLIP's head pools an image into one vector, which no decoder reads.
void leave_out_pooling_head(Tower& t) {
  if (!t.own.find({"vision_use_head"}) || t.own.flag("vision_use_head", true))
    t.root.note("the pooling head of the vision tower gives the projector nothing and is left out");
}

bool is_a_list(Tower& t) {
  const auto field = t.root.find({"vision_feature_layer"});
  return field && field->value().as_list() != nullptr;
}

std::optional<VisionSpec> llava_tower(Tower& t) {
  const std::string type =
      t.own.find({"model_type"}) ? t.own.word({"model_type"}, "") : "clip_vision_model";
  const bool whole = t.root.find({"vision_feature_select_strategy"}) &&
                     t.root.word({"vision_feature_select_strategy"}, "default") == "full";
  if (is_a_list(t)) return std::nullopt;
  const bool bias =
      !t.root.find({"multimodal_projector_bias"}) || t.root.flag("multimodal_projector_bias", true);
  VisionSpec v = vision_family(type == "pixtral"               ? "pixtral"
                               : type == "siglip_vision_model" ? "siglip"
                                                               : "clip");
  if (type == "clip_vision_model" && !whole) {
    read_layers(t, v, {768, 3072, 12, 12, 224, 32}, "quick_gelu", false);
    leave_out_last_layers(t, v, -2);
  } else if (type == "siglip_vision_model" && whole) {
    read_layers(t, v, {768, 3072, 12, 12, 224, 16}, "gelu_pytorch_tanh", false);
    v.projector = vision_family("clip").projector;
    read_whole_patches(t, v);
    const std::int64_t layers = v.layers.layers;
    leave_out_last_layers(t, v, -2);
    // The norm stands behind the last layer, and a projector that reads a layer does not meet it.
    v.last_norm = {};
    if (v.layers.layers == layers)
      t.root.note(
          "the norm behind the last layer of the vision tower gives the projector nothing, "
          "which reads that layer, and is left out");
    leave_out_pooling_head(t);
  } else if (type == "pixtral" && whole) {
    read_layers(t, v, {1024, 4096, 24, 16, 1024, 16}, "gelu", true);
    v.projector = vision_family("clip").projector;
    leave_out_last_layers(t, v, -2);
  } else {
    return std::nullopt;
  }
  for (ProjectorStep& step : v.projector) step.bias = step.bias && bias;
  return v;
}

constexpr const char* kImagesAttendAsText =
    "the decoder counts as causal for images too, whose tokens attend to later ones of their image";

std::optional<VisionSpec> gemma3_tower(Tower& t) {
  VisionSpec v = vision_family("siglip");
  read_layers(t, v, {768, 3072, 12, 12, 224, 16}, "gelu_pytorch_tanh", false);
  const std::int64_t tokens = t.root.size({"mm_tokens_per_image"}, 256),
                     patches = v.image / v.patch;
  std::int64_t side = 1;
  while ((side + 1) * (side + 1) <= tokens) ++side;
  if (side * side != tokens || patches % side != 0)
    t.root.refuse({"mm_tokens_per_image"},
                  "expected a square of a side that divides the " + std::to_string(patches) +
                      " patches along an image, found " + std::to_string(tokens));
  v.projector.front().size = patches / side;
  t.root.note(kImagesAttendAsText);
  return v;
}

// Beyer et al., "PaliGemma", 2024.
std::optional<VisionSpec> paligemma_tower(Tower& t) {
  VisionSpec v = vision_family("siglip");
  read_layers(t, v, {768, 3072, 12, 12, 224, 16}, "gelu_pytorch_tanh", false);
  v.projector = vision_family("clip").projector;
  v.projector.resize(1);
  v.projector.front().name = "linear";
  leave_out_pooling_head(t);
  t.root.note(kImagesAttendAsText);
  return v;
}

std::optional<VisionSpec> mistral3_tower(Tower& t) {
  if (is_a_list(t)) return std::nullopt;
  VisionSpec v = vision_family("pixtral");
  read_layers(t, v, {1024, 4096, 24, 16, 1024, 16}, "gelu", true);
  leave_out_last_layers(t, v, -1);
  const bool bias =
      t.root.find({"multimodal_projector_bias"}) && t.root.flag("multimodal_projector_bias", false);
  v.projector[1].size = t.root.size({"spatial_merge_size"}, 2, 1, 1024);
  for (ProjectorStep& step : v.projector)
    if (step.name.starts_with("linear")) step.bias = bias;
  return v;
}

// The towers of Qwen take images of any size; the file has none.
constexpr std::int64_t kQwenImage = 448;

void read_merger(Tower& t, VisionSpec& v, FieldNames width) {
  v.frames = t.own.size({"temporal_patch_size"}, 2, 1, 1024);
  v.projector[1].size = t.own.size({"spatial_merge_size"}, 2, 1, 1024);
  v.image = kQwenImage;
  t.root.note("the size of images is not in the file: 448 x 448");
  t.root.note(
      "the decoder turns tokens of images by their place in the sequence, and not by row and "
      "column, which is as much work");
  if (const auto field = t.own.find(width);
      field && field->integer(1, kMostHfSize) != t.decoder_width)
    field->refuse("expected the decoder's width " + std::to_string(t.decoder_width) + ", found " +
                  std::to_string(field->integer()));
}

std::optional<VisionSpec> qwen2_vl_tower(Tower& t) {
  VisionSpec v = vision_family("qwen2_vl");
  // Here hidden_size is the decoder's width, and the tower's is embed_dim.
  read_layers(t, v, {1280, 0, 32, 16, 0, 14}, "quick_gelu", false, {"embed_dim"});
  v.layers.ffn = v.layers.hidden * t.own.size({"mlp_ratio"}, 4, 1, 1024);
  read_merger(t, v, {"hidden_size"});
  return v;
}

std::optional<VisionSpec> qwen2_5_vl_tower(Tower& t) {
  VisionSpec v = vision_family("qwen2_5_vl");
  read_layers(t, v, {3584, 3420, 32, 16, 0, 14}, "silu", true);
  read_merger(t, v, {"out_hidden_size"});
  v.window = t.own.size({"window_size"}, 112, 1, 65536);
  if (const auto list = t.own.find({"fullatt_block_indexes"})) {
    for (const JsonCursor& item : list->items())
      v.whole_layers.push_back(item.integer(0, v.layers.layers - 1));
    std::sort(v.whole_layers.begin(), v.whole_layers.end());
  } else {
    t.root.note("fullatt_block_indexes is not given: 7, 15, 23 and 31, the default of qwen2_5_vl");
    v.whole_layers = {7, 15, 23, 31};
  }
  return v;
}

std::optional<VisionSpec> llama4_tower(Tower& t) {
  VisionSpec v = vision_family("llama4");
  read_layers(t, v, {768, 5632, 34, 16, 448, 14}, "gelu", false);
  const auto ratio = t.own.find({"pixel_shuffle_ratio"});
  if (ratio && ratio->number() != 0.5)
    ratio->refuse("expected a pixel shuffle of two by two patches, which is the ratio 0.5");
  const std::int64_t out = t.own.size({"projector_output_dim"}, 4096);
  v.projector[1].size = t.own.size({"projector_input_dim"}, 4096);
  v.projector[3].size = out;
  if (v.projector[1].size != out)
    t.own.refuse({"projector_input_dim"}, "expected as many as projector_output_dim, " +
                                              std::to_string(out) + ", found " +
                                              std::to_string(v.projector[1].size));
  return v;
}

std::optional<VisionSpec> internvl_tower(Tower& t) {
  if (is_a_list(t)) return std::nullopt;
  VisionSpec v = vision_family("internvl");
  read_layers(t, v, {1024, 4096, 24, 16, 448, 14}, "gelu", false);
  TransformerSpec& spec = v.layers;
  spec.qkv_bias = t.own.flag("attention_bias", false);
  spec.wide_head_norm = t.own.flag("use_qk_norm", false);
  const std::string norm = t.own.word({"norm_type"}, "layer_norm");
  if (norm != "layer_norm" && norm != "rms_norm")
    t.own.refuse({"norm_type"},
                 "expected layer_norm or rms_norm, found \"" + norm.substr(0, 60) + "\"");
  if (norm == "rms_norm") spec.norm = NormKind::Rms;
  if (spec.wide_head_norm && spec.norm != NormKind::Rms) return std::nullopt;  // two kinds of norm
  v.position_table = t.own.flag("use_absolute_position_embeddings", true);
  if (!t.own.flag("use_mean_pooling", true)) v.last_norm = "layernorm";
  const std::int64_t layers = spec.layers;
  leave_out_last_layers(t, v, -1);
  if (spec.layers < layers) v.last_norm = {};
  const auto ratio = t.root.find({"downsample_ratio"});
  if (ratio && ratio->number() != 0.5)
    ratio->refuse("expected a pixel shuffle of two by two patches, which is the ratio 0.5");
  t.root.note("each tile into which an image is cut, and its thumbnail, counts as an image");
  return v;
}

struct TowerReader {
  const char* type;
  ReadTower read;
};
constexpr TowerReader kTowerReaders[] = {
    {"llava", llava_tower},       {"gemma3", gemma3_tower},         {"mistral3", mistral3_tower},
    {"qwen2_vl", qwen2_vl_tower}, {"qwen2_5_vl", qwen2_5_vl_tower}, {"llama4", llama4_tower},
    {"internvl", internvl_tower}, {"paligemma", paligemma_tower},
};

const TowerReader* find_tower(std::string_view type) {
  for (const TowerReader& reader : kTowerReaders)
    if (type == reader.type) return &reader;
  return nullptr;
}

}  // namespace

bool has_hf_vision(std::string_view model_type) { return find_tower(model_type) != nullptr; }

std::optional<VisionSpec> hf_vision(HfFields& root, std::int64_t decoder_width) {
  const TowerReader* reader = find_tower(root.type());
  const auto config = root.config().find("vision_config");
  if (reader == nullptr || !config || config->value().as_object() == nullptr) return std::nullopt;
  HfFields own(*config, root.type() + "'s vision tower");
  Tower tower{root, own, decoder_width};
  std::optional<VisionSpec> made = reader->read(tower);
  if (made)
    for (const std::string& sentence : own.assumed()) root.note(sentence);
  return made;
}

}  // namespace trainyard
