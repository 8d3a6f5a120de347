// `trainyard sweep` prints a table with a line for each combination, or one trainyard/sweep
// document.
#pragma once

#include <string>

#include "core/estimate/sweep.h"
#include "core/io/json/json.h"

namespace trainyard {

/// The figure is that of --by; the best row by it is named below the table.
std::string sweep_text(const SweepStudy&, SweepFigure);
Json sweep_schema();
std::string sweep_document(const SweepStudy&);

}  // namespace trainyard
