// A study of sharpness as one trainyard/sharpness document, which both programs write.
#pragma once

#include <string>

#include "app/workspace/runs/sharpness/sharpness_study.h"
#include "core/io/json/json.h"

namespace trainyard {

Json sharpness_schema();
std::string sharpness_document(const SharpnessAnswer&);

}  // namespace trainyard
