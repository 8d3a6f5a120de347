// This file reads and writes fitted parameters as a document, trainyard/profile@1. Parameters are
// identified by name, each with the value that shipped when it was fitted.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/fields.h"
#include "core/validation/profile.h"

namespace trainyard {

const Fields<ParameterProfile>& profile_fields();
/// Returns canonical text; read_profile() returns an equal profile.
std::string write_profile(const ParameterProfile&);
/// A parameter that is not in the document keeps its shipped value. Throws Error{InvalidInput} at
/// "SOURCE#/pointer".
ParameterProfile read_profile(std::string_view text, const std::string& source);

}  // namespace trainyard
