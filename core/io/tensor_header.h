// What a file of weights says of its tensors before the weights begin: names, formats and shapes,
// and from them the architecture. Weights are never read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/hf_config_import.h"

namespace trainyard {

struct HeaderTensor {
  std::string name;
  std::string format;               // "BF16", "Q4_K": as the file says it
  std::vector<std::int64_t> shape;  // [out, in]: rows first, whatever the file's own order is
};

struct TensorHeader {
  std::vector<HeaderTensor> tensors;
  std::map<std::string, std::string> facts;  // metadata of one value, as text
};

/// Elements of all tensors; exact, saturating at the largest 64-bit count.
std::int64_t elements(const TensorHeader&);

/// The architecture that the names and shapes are of: the llama family (with Mistral, Qwen 2 and 3,
/// Mixtral) and GPT-2, in the names of Hugging Face or of GGUF. What the header does not say is
/// listed in Model::assumed; tensors that are no part of it are listed in the report. place: the
/// file. Throws Error{InvalidInput} for names that are none of these and shapes that contradict
/// each other.
ImportedModel model_from_header(const TensorHeader&, const std::string& name,
                                const std::string& place);

/// Reads a .safetensors or .gguf file, or a folder's or file's safetensors index with all its
/// shards; blocks. A config.json beside it decides the architecture, and the header the count.
/// Throws Error{InvalidInput} for one part of several ("-00001-of-00016"), with the file that has
/// all.
ImportedModel load_tensor_header(const std::string& path);
/// Whether the path is of a kind that load_tensor_header reads, by its name.
bool is_tensor_file(std::string_view path);

}  // namespace trainyard
