// A Model as a "trainyard/model" document, both ways.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/json.h"
#include "core/model/model.h"

namespace trainyard {

/// Everything: equal models give equal bytes.
Json model_to_json(const Model&);
std::string write_model(const Model&);

/// Throws Error{InvalidInput} at "SOURCE#/pointer" for whatever is not a model: unknown keys and
/// ops, tensors that do not exist or are used before they are made, shapes other than the op makes,
/// sizes that are out of range.
Model read_model(std::string_view text, const std::string& source);
Model model_from_json(const Json& document, const std::string& source);

}  // namespace trainyard
