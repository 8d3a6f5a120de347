// This file reads and writes a Model as a "trainyard/model" document.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/json.h"
#include "core/model/model.h"

namespace trainyard {

/// The document has everything of the model: equal models give equal bytes.
Json model_to_json(const Model&);
std::string write_model(const Model&);

/// Throws Error{InvalidInput} at "SOURCE#/pointer" for whatever is not a model: unknown keys and
/// ops, tensors that do not exist or are used before they are made, shapes that differ from those
/// that the op infers, sizes that are out of range.
Model read_model(std::string_view text, const std::string& source);
Model model_from_json(const Json& document, const std::string& source);

}  // namespace trainyard
