// Words the answer of `trainyard probe --batch`: intensity and rates by batch as tables with
// sentences that follow from them, or as one trainyard/batch document.
#pragma once

#include <string>

#include "core/estimate/batch_study.h"
#include "core/io/json/json.h"

namespace trainyard {

std::string batch_text(const BatchStudy&);
Json batch_schema();
std::string batch_document(const BatchStudy&);

}  // namespace trainyard
