// Files of weights as models: from the names and shapes in their headers the architecture. Weights
// are never read.
#pragma once

#include <string>
#include <string_view>

#include "core/io/models/hf_config_import.h"
#include "core/io/models/tensor_header.h"

namespace trainyard {

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
