// A Result as the document trainyard/result@1: plain SI numbers, and what does not apply is absent.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/result/result.h"

namespace trainyard {

Json to_json(const Result&);
/// The whole document, as simulate --json prints it.
std::string result_document(const Result&);

}  // namespace trainyard
