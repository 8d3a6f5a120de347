// This file loads a model from whatever form the user has: a name of the zoo, the words of a
// preset, a Hugging Face config.json or its folder, a "trainyard/model" file or that document
// itself, a safetensors or GGUF file of weights (its header is enough).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/models/hf_config_import.h"
#include "core/model/model.h"

namespace trainyard {

/// Blocks while it reads files. Throws Error{InvalidInput} with the nearest zoo name or file where
/// the word is neither.
Model load_model(std::string_view name_or_path);
/// Also returns what became of a config's keys (no fields where the input is no config).
ImportedModel load_model_with_report(std::string_view name_or_path);

}  // namespace trainyard
