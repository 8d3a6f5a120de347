// This file lists published vision-language models, tower and decoder, and one of our own.
#include <algorithm>

#include "core/model/zoo/vision.h"
#include "core/model/zoo/zoo_tables.h"

namespace trainyard {
namespace {

struct TowerSizes {
  std::int64_t layers, hidden, heads, ffn, image, patch;
};
struct DecoderSizes {
  std::int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, sequence;
};

VisionSpec sized_tower(const char* family, const TowerSizes& s) {
  VisionSpec v = vision_family(family);
  v.layers.layers = s.layers, v.layers.hidden = s.hidden, v.layers.heads = s.heads;
  v.layers.ffn = s.ffn;
  v.image = s.image, v.patch = s.patch;
  return v;
}

// The layer of CLIP behind the one that the projector reads is left out, with the norm behind it.
VisionSpec llava_tower() { return sized_tower("clip", {23, 1024, 16, 4096, 336, 14}); }
VisionSpec qwen2_vl_7b_tower() { return sized_tower("qwen2_vl", {32, 1280, 16, 5120, 448, 14}); }
VisionSpec qwen2_5_vl_7b_tower() {
  VisionSpec v = sized_tower("qwen2_5_vl", {32, 1280, 16, 3420, 448, 14});
  v.whole_layers = {7, 15, 23, 31};
  return v;
}
VisionSpec mistral_3_tower() { return sized_tower("pixtral", {24, 1024, 16, 4096, 1540, 14}); }
VisionSpec tiny_tower() {
  VisionSpec v = sized_tower("qwen2_vl", {2, 64, 4, 256, 28, 7});
  v.channels = v.frames = 1;
  return v;
}

struct VisionRow {
  std::string_view name;
  const char* decoder;
  DecoderSizes sizes;
  VisionSpec (*tower)();
};
constexpr VisionRow kVisionRows[] = {
    {"llava-1.5-7b", "llama", {32, 4096, 32, 32, 128, 11008, 32064, 4096}, llava_tower},
    {"qwen2-vl-7b", "qwen2", {28, 3584, 28, 4, 128, 18944, 152064, 32768}, qwen2_vl_7b_tower},
    {"qwen2.5-vl-7b", "qwen2", {28, 3584, 28, 4, 128, 18944, 152064, 128000}, qwen2_5_vl_7b_tower},
    {"mistral-small-3.1-24b",
     "mistral",
     {40, 5120, 32, 8, 128, 32768, 131072, 131072},
     mistral_3_tower},
    {"vlm-tiny", "llama", {4, 128, 4, 4, 32, 352, 256, 64}, tiny_tower},
};

Model build_vision(const ZooEntry& entry) {
  const VisionRow& row = *std::find_if(std::begin(kVisionRows), std::end(kVisionRows),
                                       [&](const VisionRow& r) { return r.name == entry.name; });
  TransformerSpec spec = family_spec(row.decoder);
  spec.name = entry.name;
  spec.source = entry.source;
  const DecoderSizes& s = row.sizes;
  spec.layers = s.layers, spec.hidden = s.hidden, spec.heads = s.heads, spec.kv_heads = s.kv_heads;
  spec.head_dim = s.head_dim, spec.ffn = s.ffn, spec.vocab = s.vocab, spec.sequence = s.sequence;
  Model model = with_vision(build_decoder(spec), row.tower());
  model.family = entry.family;
  return model;
}

constexpr std::string_view kSafetensors =
    "published checkpoint; our formula gives its count of tower, projector and decoder";

constexpr ZooEntry kVision[] = {
    {"llava-1.5-7b", "vlm", 7050828800, 7050828800, true,
     "published checkpoint of 7063427072 parameters, without the layer and the norm of the tower "
     "that nothing reads",
     build_vision},
    {"qwen2-vl-7b", "vlm", 8291375616, 8291375616, true, kSafetensors, build_vision},
    {"qwen2.5-vl-7b", "vlm", 8292166656, 8292166656, true, kSafetensors, build_vision},
    {"mistral-small-3.1-24b", "vlm", 24011361280, 24011361280, true, kSafetensors, build_vision},
    {"vlm-tiny", "vlm", 1071424, 1071424, false,
     "our own, small enough to train on a laptop: an image and characters in, characters out",
     build_vision},
};

}  // namespace

void append_vision(std::vector<ZooEntry>& list) {
  list.insert(list.end(), std::begin(kVision), std::end(kVision));
}

}  // namespace trainyard
