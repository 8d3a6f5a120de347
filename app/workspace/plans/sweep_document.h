// A sweep as one trainyard/sweep document, which both programs write.
#pragma once

#include <string>

#include "core/estimate/sweep.h"
#include "core/io/json/json.h"

namespace trainyard {

Json sweep_schema();
std::string sweep_document(const SweepStudy&);

}  // namespace trainyard
