// This file prints `trainyard halp`: what bits do to HALP, as text and as a document.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/training/halp/halp_study.h"

namespace trainyard {

std::string halp_text(const HalpStudy&);
Json halp_schema();
std::string halp_document(const HalpStudy&);

}  // namespace trainyard
