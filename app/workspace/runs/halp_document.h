// A study of HALP as one trainyard/halp document, which both programs write.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/training/halp/halp_study.h"

namespace trainyard {

Json halp_schema();
std::string halp_document(const HalpStudy&);

}  // namespace trainyard
