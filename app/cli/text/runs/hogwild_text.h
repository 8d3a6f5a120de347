// This file prints `trainyard hogwild`: what threads that share weights without locks gain on this
// machine, as text and as a document.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/training/hogwild_study.h"

namespace trainyard {

std::string hogwild_text(const HogwildStudy&);
Json hogwild_schema();
std::string hogwild_document(const HogwildStudy&);

}  // namespace trainyard
