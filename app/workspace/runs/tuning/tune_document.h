// A tuning as one trainyard/tune document, which both programs write.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/result/tune_report.h"

namespace trainyard {

Json tune_schema();
std::string tune_document(const TuneReport&);

}  // namespace trainyard
