// This file writes a Validation as the document trainyard/validation@1.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/validation/validation.h"

namespace trainyard {

std::string validation_document(const RowSet&, const Validation&);

}  // namespace trainyard
