// Fitted parameters as a document, trainyard/profile@1. Parameters go by their names, each with the
// value that shipped when it was fitted.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/json.h"
#include "core/validation/profile.h"

namespace trainyard {

/// Canonical text; read_profile gives an equal profile back.
std::string write_profile(const ParameterProfile&);
/// A parameter that is not in the document keeps the value that ships. Throws Error{InvalidInput}
/// at "SOURCE#/pointer" with the sentence.
ParameterProfile read_profile(std::string_view text, const std::string& source);

}  // namespace trainyard
