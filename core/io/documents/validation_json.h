// This file writes a Validation as the document trainyard/validation@1.
#pragma once

#include <string>

#include "core/io/json/fields.h"
#include "core/validation/validation.h"

namespace trainyard {

Json validation_schema();
std::string validation_document(const RowSet&, const Validation&);

}  // namespace trainyard
