// This file makes models from files of weights: it infers the architecture from the names and
// shapes in their headers. Weights are never read.
#pragma once

#include <string>
#include <string_view>

#include "core/io/models/hf_config_import.h"
#include "core/io/models/tensor_header.h"

namespace trainyard {

/// Infers the architecture from names and shapes: the llama family (with Mistral, Qwen 2 and 3,
/// Mixtral) and GPT-2, with the names of Hugging Face or of GGUF. Model::assumed lists what the
/// header does not say; the report lists tensors that do not belong to the architecture. place is
/// the file. Throws Error{InvalidInput} for names of another architecture and shapes that
/// contradict each other.
ImportedModel model_from_header(const TensorHeader&, const std::string& name,
                                const std::string& place);

/// Reads a .safetensors or .gguf file, or a safetensors index (a file or in a folder) with all its
/// shards; blocks. If there is a config.json beside it, that decides the architecture, and the
/// header the parameter count. Throws Error{InvalidInput} for a single shard ("-00001-of-00016"),
/// naming the file that has all.
ImportedModel load_tensor_header(const std::string& path);
/// Returns whether load_tensor_header() reads such a file, judged by its name.
bool is_tensor_file(std::string_view path);

}  // namespace trainyard
