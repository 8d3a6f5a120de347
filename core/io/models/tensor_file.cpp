#include "core/io/models/tensor_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/bytes/file_head.h"
#include "core/io/bytes/files.h"
#include "core/io/bytes/limits.h"
#include "core/io/json/json.h"
#include "core/io/models/gguf_header.h"
#include "core/io/models/safetensors_header.h"
#include "core/model/zoo/builders.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostHeaderSize = std::int64_t{1} << 28;

// A Renaming maps GGUF's name of a tensor to Hugging Face's: the ends of the model by name, layers
// by prefix.
struct Renaming {
  std::string_view gguf, hugging_face;
};
constexpr Renaming kEnds[] = {{"token_embd.weight", "model.embed_tokens.weight"},
                              {"output_norm.weight", "model.norm.weight"},
                              {"output.weight", "lm_head.weight"}};
constexpr Renaming kInLayer[] = {
    {"attn_q.", "self_attn.q_proj."},
    {"attn_k.", "self_attn.k_proj."},
    {"attn_v.", "self_attn.v_proj."},
    {"attn_output.", "self_attn.o_proj."},
    {"attn_q_norm.", "self_attn.q_norm."},
    {"attn_k_norm.", "self_attn.k_norm."},
    {"attn_norm.", "input_layernorm."},
    {"ffn_norm.", "post_attention_layernorm."},
    {"ffn_gate_inp.", "block_sparse_moe.gate."},
    {"ffn_gate_exps.", "block_sparse_moe.experts.w1."},
    {"ffn_up_exps.", "block_sparse_moe.experts.w3."},
    {"ffn_down_exps.", "block_sparse_moe.experts.w2."},
    {"ffn_gate.", "mlp.gate_proj."},
    {"ffn_up.", "mlp.up_proj."},
    {"ffn_down.", "mlp.down_proj."},
};

std::string hugging_face_name(const std::string& name) {
  for (const Renaming& end : kEnds)
    if (name == end.gguf) return std::string(end.hugging_face);
  if (!name.starts_with("blk.")) return name;
  const std::size_t dot = name.find('.', 4);
  if (dot == std::string::npos) return name;
  const std::string layer = name.substr(4, dot - 4), rest = name.substr(dot + 1);
  for (const Renaming& part : kInLayer)
    if (rest.starts_with(part.gguf))
      return "model.layers." + layer + "." + std::string(part.hugging_face) +
             rest.substr(part.gguf.size());
  return name;
}

// Parts gives tensors of a header by name and remembers which were asked for.
class Parts {
 public:
  Parts(const TensorHeader& header, std::string place) : header_(header), place_(std::move(place)) {
    for (const HeaderTensor& tensor : header.tensors) {
      std::string name = hugging_face_name(tensor.name);
      if (name.starts_with("transformer.")) name.erase(0, 12);
      by_name_.emplace(std::move(name), &tensor);
    }
  }

  const HeaderTensor* find(const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    seen_.insert(found->second);
    return found->second;
  }

  /// Returns a size of a tensor that must exist. `at` is the index of the dimension from the front.
  std::int64_t size(const std::string& name, std::size_t at, std::size_t rank) {
    const HeaderTensor* tensor = find(name);
    if (tensor == nullptr) refuse(place_, "expected the tensor " + name + ", found none");
    if (tensor->shape.size() != rank)
      refuse(place_, "expected " + name + " with " + std::to_string(rank) + " dimensions, found " +
                         std::to_string(tensor->shape.size()));
    const std::int64_t found = tensor->shape[at];
    if (found < 1 || found > kMostHeaderSize)
      refuse(place_, "expected sizes of " + name + " from 1 to " + std::to_string(kMostHeaderSize) +
                         ", found " + std::to_string(found));
    return found;
  }

  std::int64_t layers(const std::string& prefix) const {
    std::set<std::string> numbers;
    for (const auto& [name, tensor] : by_name_) {
      if (!name.starts_with(prefix)) continue;
      const std::size_t dot = name.find('.', prefix.size());
      if (dot != std::string::npos) numbers.insert(name.substr(prefix.size(), dot - prefix.size()));
    }
    return static_cast<std::int64_t>(numbers.size());
  }

  /// Returns GGUF's "ARCHITECTURE.key", or nothing.
  std::optional<std::int64_t> fact(const std::string& key) const {
    const auto arch = header_.facts.find("general.architecture");
    if (arch == header_.facts.end()) return std::nullopt;
    const auto found = header_.facts.find(arch->second + "." + key);
    if (found == header_.facts.end()) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : found->second) {
      if (c < '0' || c > '9' || value > kMostHeaderSize) return std::nullopt;
      value = value * 10 + (c - '0');
    }
    return value >= 1 && value <= kMostHeaderSize ? std::optional(value) : std::nullopt;
  }

  const std::string& place() const { return place_; }

 private:
  const TensorHeader& header_;
  std::string place_;
  std::map<std::string, const HeaderTensor*> by_name_;
  std::set<const HeaderTensor*> seen_;
};

// Determines the number of heads where the header has only their product with their width.
void settle_heads(Parts& parts, TransformerSpec& spec, std::int64_t q, std::int64_t kv,
                  std::vector<std::string>& assumed) {
  if (const auto heads = parts.fact("attention.head_count")) {
    spec.heads = *heads;
  } else if (parts.find("model.layers.0.self_attn.q_norm.weight") != nullptr) {
    spec.heads = q / parts.size("model.layers.0.self_attn.q_norm.weight", 0, 1);
  } else {
    const std::int64_t width = spec.hidden >= 2048 ? 128 : 64;
    spec.heads = std::max<std::int64_t>(1, q / width);
    assumed.push_back("the header does not say how many attention heads there are: " +
                      std::to_string(spec.heads) + ", of " + std::to_string(width) + " each");
  }
  if (spec.heads < 1 || q % spec.heads != 0)
    refuse(parts.place(), "expected attention heads that divide the " + std::to_string(q) +
                              " rows of q_proj, found " + std::to_string(spec.heads));
  spec.head_dim = q / spec.heads;
  if (kv % spec.head_dim != 0)
    refuse(parts.place(), "expected heads of " + std::to_string(spec.head_dim) +
                              " that divide the " + std::to_string(kv) + " rows of k_proj");
  spec.kv_heads = kv / spec.head_dim;
}

std::int64_t sequence_of(const Parts& parts, std::int64_t usual,
                         std::vector<std::string>& assumed) {
  if (const auto length = parts.fact("context_length")) return *length;
  assumed.push_back("the header does not say the longest sequence: " + std::to_string(usual));
  return usual;
}

// Experts are one tensor each (Hugging Face) or one tensor for all (GGUF).
void settle_experts(Parts& parts, TransformerSpec& spec, std::vector<std::string>& assumed) {
  const std::string base = "model.layers.0.block_sparse_moe.";
  spec.experts.count = parts.size(base + "gate.weight", 0, 2);
  if (parts.find(base + "experts.w1.weight") != nullptr)
    spec.experts.ffn = parts.size(base + "experts.w1.weight", 1, 3);
  else
    spec.experts.ffn = parts.size(base + "experts.0.w1.weight", 0, 2);
  spec.ffn = spec.experts.ffn;
  if (const auto used = parts.fact("expert_used_count")) {
    spec.experts.top_k = *used;
  } else {
    spec.experts.top_k = std::min<std::int64_t>(2, spec.experts.count);
    assumed.push_back("the header does not say how many experts a token meets: " +
                      std::to_string(spec.experts.top_k));
  }
}

Model llama_of(Parts& parts, std::vector<std::string>& assumed) {
  const std::string first = "model.layers.0.";
  const bool moe = parts.find(first + "block_sparse_moe.gate.weight") != nullptr;
  const bool normed = parts.find(first + "self_attn.q_norm.weight") != nullptr;
  const bool biased = parts.find(first + "self_attn.q_proj.bias") != nullptr;
  TransformerSpec spec = family_spec(moe      ? "mixtral"
                                     : normed ? "qwen3"
                                     : biased ? "qwen2"
                                              : "llama");
  spec.vocab = parts.size("model.embed_tokens.weight", 0, 2);
  spec.hidden = parts.size("model.embed_tokens.weight", 1, 2);
  spec.layers = parts.layers("model.layers.");
  spec.qkv_bias = biased;
  spec.head_norm = normed;
  spec.tied = parts.find("lm_head.weight") == nullptr;
  settle_heads(parts, spec, parts.size(first + "self_attn.q_proj.weight", 0, 2),
               parts.size(first + "self_attn.k_proj.weight", 0, 2), assumed);
  if (moe)
    settle_experts(parts, spec, assumed);
  else
    spec.ffn = parts.size(first + "mlp.gate_proj.weight", 0, 2);
  spec.sequence = sequence_of(parts, 4096, assumed);
  return build_decoder(spec);
}

Model gpt2_of(Parts& parts, std::vector<std::string>& assumed) {
  TransformerSpec spec = family_spec("gpt2");
  spec.vocab = parts.size("wte.weight", 0, 2);
  spec.hidden = parts.size("wte.weight", 1, 2);
  spec.sequence = parts.size("wpe.weight", 0, 2);
  spec.layers = parts.layers("h.");
  spec.ffn = parts.size("h.0.mlp.c_fc.weight", 1, 2);  // stored [in, out]
  spec.heads = std::max<std::int64_t>(1, spec.hidden / 64);
  assumed.push_back("the header does not say how many attention heads there are: " +
                    std::to_string(spec.heads) + ", of 64 each, as GPT-2 has them");
  return build_decoder(spec);
}

// Returns whether a tensor is a buffer and no parameter.
bool is_buffer(const std::string& name) {
  for (const std::string_view ending :
       {".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", "rope_freqs.weight"})
    if (name.ends_with(ending)) return true;
  return false;
}

void state_count(const TensorHeader& header, ImportedModel& imported) {
  std::int64_t held = 0;
  for (const HeaderTensor& tensor : header.tensors) {
    if (is_buffer(tensor.name)) {
      imported.report.unknown.push_back(tensor.name + " (a buffer)");
      continue;
    }
    if (__builtin_add_overflow(held, elements(tensor), &held)) held = kMostCount;
  }
  imported.report.fields = static_cast<int>(std::min<std::size_t>(
      header.tensors.size(), static_cast<std::size_t>(std::numeric_limits<int>::max())));
  const std::int64_t built = parameters(imported.model);
  if (held == built) return;
  imported.model.assumed.push_back("the header holds " + std::to_string(held) +
                                   " parameters, the model built from it " + std::to_string(built) +
                                   ": tensors that the architecture does not have are left out");
}

TensorHeader read_safetensors(const std::string& path) {
  const FileHead eight = read_file_head(path, 8_B);
  const std::int64_t length = safetensors_header_length(eight.bytes, eight.file.value, path);
  const FileHead head = read_file_head(path, Bytes{8 + length});
  return parse_safetensors_header(head.bytes, head.file.value, path);
}

// Reads every shard that the index names, in the index's own folder.
TensorHeader read_index(const std::string& path) {
  const Json document = parse_json(read_file(path, kLargestConfig), path);
  const JsonCursor root(document, path);
  const JsonCursor map = root.at("weight_map");
  std::set<std::string> shards;
  for (const std::string& tensor : map.keys()) {
    const std::string shard = map.at(tensor).text();
    if (shard.empty() || shard.find('/') != std::string::npos)
      map.at(tensor).refuse("expected the name of a file beside the index, found \"" +
                            shard.substr(0, 60) + "\"");
    shards.insert(shard);
  }
  TensorHeader whole;
  for (const std::string& shard : shards) {
    TensorHeader part = read_safetensors((fs::path(path).parent_path() / shard).string());
    whole.tensors.insert(whole.tensors.end(), part.tensors.begin(), part.tensors.end());
  }
  return whole;
}

std::optional<std::int64_t> count_of(std::string_view digits) {
  const auto value = number_of<std::int64_t>(digits);
  return digits.size() == 5 && value ? value : std::nullopt;
}

// Refuses a single shard such as "model-00001-of-00016.safetensors": a model made from it would
// have only the layers in it and no head.
void expect_whole(const std::string& path) {
  std::string stem = fs::path(path).stem().string();
  constexpr std::size_t kTail = std::string_view("-00001-of-00016").size();
  if (stem.size() <= kTail || stem.substr(stem.size() - 9, 4) != "-of-") return;
  const std::string_view tail = std::string_view(stem).substr(stem.size() - kTail);
  const auto part = count_of(tail.substr(1, 5)), all = count_of(tail.substr(10));
  if (tail[0] != '-' || !part || !all || *all < 2) return;
  stem.resize(stem.size() - kTail);
  const fs::path folder = fs::path(path).parent_path();
  std::string whole;
  for (const std::string& name : {stem + ".safetensors.index.json", std::string("config.json")}) {
    std::error_code ignored;
    if (whole.empty() && fs::is_regular_file(folder / name, ignored))
      whole = "; try " + (folder / name).string();
  }
  refuse(path, "expected a whole model, found part " + std::to_string(*part) + " of " +
                   std::to_string(*all) +
                   (whole.empty() ? "; it takes the index or the config.json beside it" : whole));
}

std::string stem_of(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  for (const std::string_view ending : {".index.json", ".safetensors", ".gguf"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  const std::string folder = fs::path(path).parent_path().filename().string();
  return (name == "model" || name == "model.safetensors") && !folder.empty() ? folder : name;
}

}  // namespace

ImportedModel model_from_header(const TensorHeader& header, const std::string& name,
                                const std::string& place) {
  Parts parts(header, place);
  std::vector<std::string> assumed;
  ImportedModel imported;
  if (parts.find("model.embed_tokens.weight") != nullptr &&
      parts.find("model.layers.0.self_attn.q_proj.weight") != nullptr) {
    imported.model = llama_of(parts, assumed);
  } else if (parts.find("wte.weight") != nullptr && parts.find("wpe.weight") != nullptr) {
    imported.model = gpt2_of(parts, assumed);
  } else {
    refuse(place,
           "expected tensors named as Llama, Mistral, Qwen, Mixtral or GPT-2 have them, found " +
               std::to_string(header.tensors.size()) + " with " + std::to_string(elements(header)) +
               " elements" +
               (header.tensors.empty()
                    ? std::string()
                    : ", as \"" + header.tensors.front().name.substr(0, 60) + "\""));
  }
  imported.model.name = name;
  imported.model.source = place;
  imported.model.assumed = std::move(assumed);
  state_count(header, imported);
  return imported;
}

bool is_tensor_file(std::string_view path) {
  return path.ends_with(".safetensors") || path.ends_with(".gguf") ||
         path.ends_with(".safetensors.index.json");
}

ImportedModel load_tensor_header(const std::string& path) {
  expect_whole(path);
  if (path.ends_with(".gguf")) {
    const FileHead head = read_file_head(path, kLargestGgufHeader);
    return model_from_header(parse_gguf_header(head.bytes, head.file.value, path), stem_of(path),
                             path);
  }
  const TensorHeader header =
      path.ends_with(".index.json") ? read_index(path) : read_safetensors(path);
  const fs::path config = fs::path(path).parent_path() / "config.json";
  std::error_code ignored;
  if (!fs::is_regular_file(config, ignored)) return model_from_header(header, stem_of(path), path);
  ImportedModel imported = import_hf_config_with_report(read_file(config.string(), kLargestConfig),
                                                        config.lexically_normal().string());
  const int fields = imported.report.fields;
  state_count(header, imported);
  imported.report.fields = fields;
  return imported;
}

}  // namespace trainyard
