// This file lists published transformers of 2024 and later whose layers differ from Llama's, or
// from each other. Counts are those of the text part.
#include "core/model/zoo/zoo_tables.h"

namespace trainyard {
namespace {

constexpr std::string_view kCheckpoint =
    "published checkpoint; our formula gives its count, without the layer that predicts a second "
    "token";
constexpr std::string_view kText =
    "published checkpoint; our formula gives the count of its text part";

// Every layer for which `marked` holds has another kind.
template <class Marked>
std::vector<LayerKind> pattern(std::int64_t layers, LayerKind usual, LayerKind other,
                               Marked marked) {
  std::vector<LayerKind> kinds;
  for (std::int64_t i = 0; i < layers; ++i) kinds.push_back(marked(i) ? other : usual);
  return kinds;
}

TransformerSpec recent(const ZooEntry& entry, std::int64_t layers, std::int64_t hidden,
                       std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim,
                       std::int64_t ffn, std::int64_t vocab, std::int64_t sequence) {
  TransformerSpec spec = family_spec(entry.family);
  spec.name = entry.name;
  spec.source = entry.source;
  spec.layers = layers;
  spec.hidden = hidden;
  spec.heads = heads;
  spec.kv_heads = kv_heads;
  spec.head_dim = head_dim;
  spec.ffn = ffn;
  spec.vocab = vocab;
  spec.sequence = sequence;
  return spec;
}

Model gpt_oss_of(const ZooEntry& entry, std::int64_t layers, std::int64_t experts) {
  TransformerSpec spec = recent(entry, layers, 2880, 64, 8, 64, 2880, 201088, 131072);
  spec.experts.count = experts;
  spec.experts.top_k = 4;
  spec.experts.ffn = 2880;
  spec.pattern = pattern(layers, {}, {.window = 128}, [](std::int64_t i) { return i % 2 == 0; });
  return build_decoder(spec);
}
Model gpt_oss_20b(const ZooEntry& entry) { return gpt_oss_of(entry, 24, 32); }
Model gpt_oss_120b(const ZooEntry& entry) { return gpt_oss_of(entry, 36, 128); }

Model glm_45(const ZooEntry& entry) {
  TransformerSpec spec = recent(entry, 92, 5120, 96, 8, 128, 12288, 151552, 131072);
  spec.experts = {160, 8, 1536, 1, 3, true};
  spec.head_norm = true;
  return build_decoder(spec);
}
Model glm_45_air(const ZooEntry& entry) {
  TransformerSpec spec = recent(entry, 46, 4096, 96, 8, 128, 10944, 151552, 131072);
  spec.experts = {128, 8, 1408, 1, 1, true};
  return build_decoder(spec);
}

// Every fourth layer attends to the whole sequence and knows no positions.
Model llama_4(const ZooEntry& entry, std::int64_t experts, std::int64_t step) {
  TransformerSpec spec = recent(entry, 48, 5120, 40, 8, 128, 16384, 202048, 262144);
  spec.experts = {experts, 1, 8192, 1, 0, false};
  spec.pattern =
      pattern(48, {.chunk = 8192}, {.rotary = false}, [](std::int64_t i) { return i % 4 == 3; });
  for (std::int64_t i = 0; i < 48; ++i)
    spec.pattern[static_cast<std::size_t>(i)].dense = (i + 1) % step != 0;
  return build_decoder(spec);
}
Model llama_4_scout(const ZooEntry& entry) { return llama_4(entry, 16, 1); }
Model llama_4_maverick(const ZooEntry& entry) { return llama_4(entry, 128, 2); }

Model gemma_3_27b(const ZooEntry& entry) {
  TransformerSpec spec = recent(entry, 62, 5376, 32, 16, 128, 21504, 262208, 131072);
  spec.pattern = pattern(62, {.window = 1024}, {}, [](std::int64_t i) { return i % 6 == 5; });
  return build_decoder(spec);
}

Model olmo_2_32b(const ZooEntry& entry) {
  return build_decoder(recent(entry, 64, 5120, 40, 8, 128, 27648, 100352, 4096));
}

// Every fourth layer attends; the others have the gated delta rule.
Model qwen3_next_80b(const ZooEntry& entry) {
  TransformerSpec spec = recent(entry, 48, 2048, 16, 2, 256, 5120, 151936, 262144);
  spec.experts.count = 512;
  spec.experts.top_k = 10;
  spec.experts.ffn = spec.experts.shared_ffn = 512;
  spec.delta = {16, 128, 32, 128};
  spec.pattern =
      pattern(48, {.mixer = Mixer::GatedDelta}, {}, [](std::int64_t i) { return i % 4 == 3; });
  return build_decoder(spec);
}

constexpr ZooEntry kRecent[] = {
    {"gpt-oss-20b", "gpt_oss", 20914757184, 4187440704, true, kCheckpoint, gpt_oss_20b},
    {"gpt-oss-120b", "gpt_oss", 116829156672, 5711982912, true, kCheckpoint, gpt_oss_120b},
    {"glm-4.5", "glm4_moe", 352797829024, 33632266144, true, kCheckpoint, glm_45},
    {"glm-4.5-air", "glm4_moe", 106852251264, 13424129664, true, kCheckpoint, glm_45_air},
    {"llama-4-scout", "llama", 107769861120, 17172894720, true, kText, llama_4_scout},
    {"llama-4-maverick", "llama", 400711848960, 17184691200, true, kText, llama_4_maverick},
    {"gemma-3-27b", "gemma3", 27009346304, 27009346304, true, kText, gemma_3_27b},
    {"qwen3-next-80b-a3b", "qwen3_next", 79674391296, 3874929408, true, kCheckpoint,
     qwen3_next_80b},
    {"olmo-2-32b", "olmo2", 32234279936, 32234279936, true, kCheckpoint, olmo_2_32b},
};

}  // namespace

void append_recent_transformers(std::vector<ZooEntry>& list) {
  list.insert(list.end(), std::begin(kRecent), std::end(kRecent));
}

}  // namespace trainyard
