// This file lists published transformers, one line each, ordered by family.
#include "core/model/zoo/zoo_tables.h"

namespace trainyard {
namespace {

constexpr std::string_view kCard = "model card; our formula gives the published count";
constexpr std::string_view kMemory = "published count as we know it; our formula gives the same";
constexpr std::string_view kGpt3 =
    "Brown et al. 2020, table 2.1 (rounded there; the count is our formula's)";
constexpr std::string_view kMegatron =
    "Narayanan et al. 2021, table 1 (rounded there; the count is our formula's)";

// A Row holds what differs between the members of a decoder family; the rest comes from the family.
struct Row {
  std::string_view name, family;
  std::int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, sequence;
  bool tied;
  std::int64_t parameters;
  bool exact;
  std::string_view source;
};

constexpr Row kRows[] = {
    {"llama-1-7b", "llama", 32, 4096, 32, 32, 128, 11008, 32000, 2048, false, 6738415616, true,
     kCard},
    {"llama-1-13b", "llama", 40, 5120, 40, 40, 128, 13824, 32000, 2048, false, 13015864320, true,
     kCard},
    {"llama-1-30b", "llama", 60, 6656, 52, 52, 128, 17920, 32000, 2048, false, 32528943616, true,
     kMemory},
    {"llama-1-65b", "llama", 80, 8192, 64, 64, 128, 22016, 32000, 2048, false, 65285660672, true,
     kMemory},
    {"llama-2-7b", "llama", 32, 4096, 32, 32, 128, 11008, 32000, 4096, false, 6738415616, true,
     kCard},
    {"llama-2-13b", "llama", 40, 5120, 40, 40, 128, 13824, 32000, 4096, false, 13015864320, true,
     kCard},
    {"llama-2-70b", "llama", 80, 8192, 64, 8, 128, 28672, 32000, 4096, false, 68976648192, true,
     "model card; some cards print 68976653312, which adds 80 x 64 rotary buffers"},
    {"llama-3-8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 8192, false, 8030261248, true,
     kCard},
    {"llama-3-70b", "llama", 80, 8192, 64, 8, 128, 28672, 128256, 8192, false, 70553706496, true,
     kCard},
    {"llama-3.1-405b", "llama", 126, 16384, 128, 8, 128, 53248, 128256, 131072, false, 405853388800,
     true, kCard},
    {"llama-3.1-8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072, false, 8030261248, true,
     kCard},
    {"llama-3.1-70b", "llama", 80, 8192, 64, 8, 128, 28672, 128256, 131072, false, 70553706496,
     true, kCard},
    {"llama-3.2-1b", "llama", 16, 2048, 32, 8, 64, 8192, 128256, 131072, true, 1235814400, true,
     kMemory},
    {"llama-3.2-3b", "llama", 28, 3072, 24, 8, 128, 8192, 128256, 131072, true, 3212749824, true,
     kMemory},
    {"mistral-7b", "mistral", 32, 4096, 32, 8, 128, 14336, 32000, 32768, false, 7241732096, true,
     kCard},
    {"qwen2-0.5b", "qwen2", 24, 896, 14, 2, 64, 4864, 151936, 32768, true, 494032768, true,
     kMemory},
    {"qwen2-1.5b", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936, 32768, true, 1543714304, true,
     kMemory},
    {"qwen2-7b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064, 32768, false, 7615616512, true,
     kCard},
    {"qwen2.5-32b", "qwen2", 64, 5120, 40, 8, 128, 27648, 152064, 32768, false, 32763876352, true,
     kCard},
    {"qwen2-72b", "qwen2", 80, 8192, 64, 8, 128, 29568, 152064, 32768, false, 72706203648, true,
     kCard},
    {"qwen3-8b", "qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 40960, false, 8190735360, true,
     kMemory},
    {"gemma-2b", "gemma", 18, 2048, 8, 1, 256, 16384, 256000, 8192, true, 2506172416, true,
     kMemory},
    {"gemma-7b", "gemma", 28, 3072, 16, 16, 256, 24576, 256000, 8192, true, 8537680896, true,
     kMemory},
    {"phi-1.5", "phi", 24, 2048, 32, 32, 64, 8192, 51200, 2048, false, 1418270720, true, kMemory},
    {"phi-2", "phi", 32, 2560, 32, 32, 80, 10240, 51200, 2048, false, 2779683840, true, kMemory},
    {"phi-3-mini", "phi3", 32, 3072, 32, 32, 96, 8192, 32064, 4096, false, 3821079552, true,
     kMemory},
    {"gpt2", "gpt2", 12, 768, 12, 12, 64, 3072, 50257, 1024, true, 124439808, true, kCard},
    {"gpt2-medium", "gpt2", 24, 1024, 16, 16, 64, 4096, 50257, 1024, true, 354823168, true,
     kMemory},
    {"gpt2-large", "gpt2", 36, 1280, 20, 20, 64, 5120, 50257, 1024, true, 774030080, true, kMemory},
    {"gpt2-xl", "gpt2", 48, 1600, 25, 25, 64, 6400, 50257, 1024, true, 1557611200, true, kMemory},
    {"gpt-tiny", "gpt2", 4, 128, 4, 4, 32, 512, 256, 128, true, 842496, false,
     "our own, small enough to train on a laptop: characters in, characters out"},
    {"gpt3-small", "gpt2", 12, 768, 12, 12, 64, 3072, 50257, 2048, true, 125226240, false, kGpt3},
    {"gpt3-medium", "gpt2", 24, 1024, 16, 16, 64, 4096, 50257, 2048, true, 355871744, false, kGpt3},
    {"gpt3-large", "gpt2", 24, 1536, 16, 16, 96, 6144, 50257, 2048, true, 760300032, false, kGpt3},
    {"gpt3-xl", "gpt2", 24, 2048, 16, 16, 128, 8192, 50257, 2048, true, 1315723264, false,
     "Brown et al. 2020, table 2.1; it prints 24 heads of 128, which is not 2048, so 16 are used"},
    {"gpt3-2.7b", "gpt2", 32, 2560, 32, 32, 80, 10240, 50257, 2048, true, 2651553280, false, kGpt3},
    {"gpt3-6.7b", "gpt2", 32, 4096, 32, 32, 128, 16384, 50257, 2048, true, 6658404352, false,
     kGpt3},
    {"gpt3-13b", "gpt2", 40, 5140, 20, 20, 257, 20560, 50257, 2048, true, 12952938780, false,
     "Brown et al. 2020, table 2.1; it prints 40 heads of 128, which is not 5140, so 20 of 257 are "
     "used"},
    {"gpt3-175b", "gpt2", 96, 12288, 96, 96, 128, 49152, 50257, 2048, true, 174604259328, false,
     kGpt3},
    {"megatron-1.7b", "gpt2", 24, 2304, 24, 24, 96, 9216, 51200, 2048, true, 1652230656, false,
     kMegatron},
    {"megatron-3.6b", "gpt2", 30, 3072, 32, 32, 96, 12288, 51200, 2048, true, 3562168320, false,
     kMegatron},
    {"megatron-7.5b", "gpt2", 36, 4096, 32, 32, 128, 16384, 51200, 2048, true, 7467786240, false,
     kMegatron},
    {"megatron-18.4b", "gpt2", 40, 6144, 48, 48, 128, 24576, 51200, 2048, true, 18449756160, false,
     kMegatron},
    {"megatron-39.1b", "gpt2", 48, 8192, 64, 64, 128, 32768, 51200, 2048, true, 39096041472, false,
     kMegatron},
    {"megatron-76.1b", "gpt2", 60, 10240, 80, 80, 128, 40960, 51200, 2048, true, 76050739200, false,
     kMegatron},
    {"megatron-145.6b", "gpt2", 80, 12288, 96, 96, 128, 49152, 51200, 2048, true, 145622261760,
     false, kMegatron},
    {"megatron-310.1b", "gpt2", 96, 16384, 128, 128, 128, 65536, 51200, 2048, true, 310130540544,
     false, kMegatron},
    {"megatron-529.6b", "gpt2", 105, 20480, 128, 128, 160, 81920, 51200, 2048, true, 529600819200,
     false, kMegatron},
    {"megatron-1008b", "gpt2", 128, 25600, 160, 160, 160, 102400, 51200, 2048, true, 1008038758400,
     false, kMegatron},
    {"neox-tiny", "gpt_neox", 4, 128, 4, 4, 32, 512, 256, 128, false, 858880, false,
     "our own, small enough to train on a laptop: attention and MLP beside each other"},
    {"pythia-70m", "gpt_neox", 6, 512, 8, 8, 64, 2048, 50304, 2048, false, 70426624, true, kMemory},
    {"pythia-1b", "gpt_neox", 16, 2048, 8, 8, 256, 8192, 50304, 2048, false, 1011781632, true,
     kMemory},
    {"pythia-6.9b", "gpt_neox", 32, 4096, 32, 32, 128, 16384, 50432, 2048, false, 6857302016, true,
     kMemory},
    {"pythia-12b", "gpt_neox", 36, 5120, 40, 40, 128, 20480, 50688, 2048, false, 11846072320, true,
     kMemory},
    {"gpt-neox-20b", "gpt_neox", 44, 6144, 64, 64, 96, 24576, 50432, 2048, false, 20554567680, true,
     kCard},
    {"opt-125m", "opt", 12, 768, 12, 12, 64, 3072, 50272, 2048, true, 125239296, true, kMemory},
    {"opt-6.7b", "opt", 32, 4096, 32, 32, 128, 16384, 50272, 2048, true, 6658473984, true, kMemory},
    {"bloom-560m", "bloom", 24, 1024, 16, 16, 64, 4096, 250880, 2048, true, 559214592, true,
     kMemory},
    {"bloom-176b", "bloom", 70, 14336, 112, 112, 128, 57344, 250880, 2048, true, 176247271424, true,
     kMemory},
};

TransformerSpec spec_of(const ZooEntry& entry, std::string_view family) {
  TransformerSpec spec = family_spec(family);
  spec.name = entry.name;
  spec.source = entry.source;
  return spec;
}

TransformerSpec spec_of_row(const ZooEntry& entry) {
  for (const Row& row : kRows) {
    if (row.name != entry.name) continue;
    TransformerSpec spec = spec_of(entry, row.family);
    spec.layers = row.layers;
    spec.hidden = row.hidden;
    spec.heads = row.heads;
    spec.kv_heads = row.kv_heads;
    spec.head_dim = row.head_dim;
    spec.ffn = row.ffn;
    spec.vocab = row.vocab;
    spec.sequence = row.sequence;
    spec.tied = row.tied;
    if (row.name == "mistral-7b") spec.window = 4096;
    return spec;
  }
  return family_spec(entry.family);
}

TransformerSpec sized(TransformerSpec spec, std::int64_t layers, std::int64_t hidden,
                      std::int64_t heads, std::int64_t ffn, std::int64_t vocab,
                      std::int64_t sequence) {
  spec.layers = layers;
  spec.hidden = hidden;
  spec.heads = heads;
  spec.ffn = ffn;
  spec.vocab = vocab;
  spec.sequence = sequence;
  return spec;
}

TransformerSpec mixtral_8x7b(const ZooEntry& entry) {
  TransformerSpec spec = sized(spec_of(entry, "mixtral"), 32, 4096, 32, 14336, 32000, 32768);
  spec.kv_heads = 8;
  spec.experts = {8, 2, 14336, 0, 0, false};
  return spec;
}

TransformerSpec mixtral_8x22b(const ZooEntry& entry) {
  TransformerSpec spec = sized(spec_of(entry, "mixtral"), 56, 6144, 48, 16384, 32768, 65536);
  spec.kv_heads = 8;
  spec.experts = {8, 2, 16384, 0, 0, false};
  return spec;
}

TransformerSpec mixtral_tiny(const ZooEntry& entry) {
  TransformerSpec spec = sized(spec_of(entry, "mixtral"), 4, 128, 4, 256, 256, 128);
  spec.kv_heads = 2;
  spec.experts = {8, 2, 256, 0, 0, false};
  return spec;
}

TransformerSpec zoo_deepseek_v3(const ZooEntry& entry) {
  TransformerSpec spec = sized(spec_of(entry, "deepseek_v3"), 61, 7168, 128, 18432, 129280, 163840);
  spec.experts = {256, 8, 2048, 1, 3, true, 8, 4};
  spec.latent = {1536, 512, 128, 64, 128};
  return spec;
}

TransformerSpec kimi_k2(const ZooEntry& entry) {
  TransformerSpec spec = sized(spec_of(entry, "deepseek_v3"), 61, 7168, 64, 18432, 163840, 131072);
  spec.experts = {384, 8, 2048, 1, 1, true};
  spec.latent = {1536, 512, 128, 64, 128};
  return spec;
}

TransformerSpec qwen3_routed(const ZooEntry& entry, std::int64_t layers, std::int64_t hidden,
                             std::int64_t heads, std::int64_t expert) {
  TransformerSpec spec =
      sized(spec_of(entry, "qwen3"), layers, hidden, heads, expert, 151936, 40960);
  spec.kv_heads = 4;
  spec.head_dim = 128;
  spec.experts = {128, 8, expert, 0, 0, false};
  return spec;
}
TransformerSpec qwen3_30b(const ZooEntry& entry) { return qwen3_routed(entry, 48, 2048, 32, 768); }
TransformerSpec qwen3_235b(const ZooEntry& entry) {
  return qwen3_routed(entry, 94, 4096, 64, 1536);
}

Model build_from_spec(const ZooEntry& entry) { return build_decoder(entry.spec(entry)); }

Model bert_base(const ZooEntry& entry) {
  return build_encoder(sized(spec_of(entry, "bert"), 12, 768, 12, 3072, 30522, 512));
}
Model bert_large(const ZooEntry& entry) {
  return build_encoder(sized(spec_of(entry, "bert"), 24, 1024, 16, 4096, 30522, 512));
}

Model zoo_t5(const ZooEntry& entry, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
             std::int64_t width, std::int64_t ffn) {
  TransformerSpec spec = sized(spec_of(entry, "t5"), layers, hidden, heads, ffn, 32128, 512);
  spec.decoder_layers = layers;
  spec.head_dim = width;
  return build_encoder_decoder(spec);
}
Model t5_small(const ZooEntry& entry) { return zoo_t5(entry, 6, 512, 8, 64, 2048); }
Model t5_base(const ZooEntry& entry) { return zoo_t5(entry, 12, 768, 12, 64, 3072); }
Model t5_large(const ZooEntry& entry) { return zoo_t5(entry, 24, 1024, 16, 64, 4096); }
Model t5_3b(const ZooEntry& entry) { return zoo_t5(entry, 24, 1024, 32, 128, 16384); }
Model t5_11b(const ZooEntry& entry) { return zoo_t5(entry, 24, 1024, 128, 128, 65536); }

Model vaswani(const ZooEntry& entry, std::int64_t hidden, std::int64_t heads) {
  TransformerSpec spec =
      sized(spec_of(entry, "transformer"), 6, hidden, heads, 4 * hidden, 37000, 1024);
  spec.decoder_layers = 6;
  return build_encoder_decoder(spec);
}
Model transformer_base(const ZooEntry& entry) { return vaswani(entry, 512, 8); }
Model transformer_big(const ZooEntry& entry) { return vaswani(entry, 1024, 16); }
Model transformer_tiny(const ZooEntry& entry) {
  TransformerSpec spec = sized(spec_of(entry, "transformer"), 4, 64, 4, 256, 256, 64);
  spec.decoder_layers = 4;
  return build_encoder_decoder(spec);
}

Model zoo_vit(const ZooEntry& entry, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
              std::int64_t patch) {
  ImageSpec image;
  image.patch = patch;
  return build_vision_transformer(
      sized(spec_of(entry, "vit"), layers, hidden, heads, 4 * hidden, 0, 0), image);
}
Model vit_b16(const ZooEntry& entry) { return zoo_vit(entry, 12, 768, 12, 16); }
Model vit_l16(const ZooEntry& entry) { return zoo_vit(entry, 24, 1024, 16, 16); }
Model vit_h14(const ZooEntry& entry) { return zoo_vit(entry, 32, 1280, 16, 14); }

constexpr std::string_view kVaswani =
    "Vaswani et al. 2017, table 3 (rounded there; the count is our formula's)";

constexpr ZooEntry kOthers[] = {
    {"mixtral-8x7b", "mixtral", 46702792704, 12879925248, true, kCard, build_from_spec,
     mixtral_8x7b},
    {"mixtral-8x22b", "mixtral", 140630071296, 39161468928, true,
     "model card of v0.3 (vocabulary 32768)", build_from_spec, mixtral_8x22b},
    {"mixtral-tiny", "mixtral", 3413120, 1053824, false,
     "our own, small enough to train on a laptop: characters in, characters out", build_from_spec,
     mixtral_tiny},
    {"deepseek-v3", "deepseek_v3", 671026419200, 37552297472, true,
     "model card; counts the routers' balancing bias, not the layer that predicts a second token",
     build_from_spec, zoo_deepseek_v3},
    {"kimi-k2", "deepseek_v3", 1026408232448, 32861500928, false,
     "config.json of the model card (about 1 trillion, 32 billion active; the count is our "
     "formula's)",
     build_from_spec, kimi_k2},
    {"qwen3-30b-a3b", "qwen3", 30532122624, 3353032704, true, kCard, build_from_spec, qwen3_30b},
    {"qwen3-235b-a22b", "qwen3", 235093634560, 22190763520, true, kCard, build_from_spec,
     qwen3_235b},
    {"bert-base", "bert", 109482240, 109482240, true, "published count of encoder and pooler",
     bert_base},
    {"bert-large", "bert", 335141888, 335141888, true, "published count of encoder and pooler",
     bert_large},
    {"t5-small", "t5", 60506624, 60506624, true, kMemory, t5_small},
    {"t5-base", "t5", 222903552, 222903552, true, kCard, t5_base},
    {"t5-large", "t5", 737668096, 737668096, true, kMemory, t5_large},
    {"t5-3b", "t5", 2851598336, 2851598336, true, kCard, t5_3b},
    {"t5-11b", "t5", 11307321344, 11307321344, true, kCard, t5_11b},
    {"transformer-base", "transformer", 63082496, 63082496, false, kVaswani, transformer_base},
    {"transformer-big", "transformer", 214245376, 214245376, false, kVaswani, transformer_big},
    {"transformer-tiny", "transformer", 483328, 483328, false,
     "our own, small enough to train on a laptop: characters in, the characters after them out",
     transformer_tiny},
    {"vit-b16", "vit", 86567656, 86567656, true, kCard, vit_b16},
    {"vit-l16", "vit", 304326632, 304326632, true, kCard, vit_l16},
    {"vit-h14", "vit", 632045800, 632045800, true, kCard, vit_h14},
};

}  // namespace

void append_transformers(std::vector<ZooEntry>& list) {
  for (const Row& row : kRows)
    list.push_back({row.name, row.family, row.parameters, row.parameters, row.exact, row.source,
                    build_from_spec, spec_of_row});
  list.insert(list.end(), std::begin(kOthers), std::end(kOthers));
}

}  // namespace trainyard
