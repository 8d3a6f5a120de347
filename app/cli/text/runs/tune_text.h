// Writes the output of "trainyard tune" as text.
#pragma once

#include <string>

#include "core/result/tune_report.h"

namespace trainyard {

/// All trials, the best so far by cost, what each family was given, and the best settings.
std::string tune_text(const TuneReport&);

}  // namespace trainyard
