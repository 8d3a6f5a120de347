// `trainyard sweep` prints a table with a line for each combination.
#pragma once

#include <string>

#include "core/estimate/sweep.h"

namespace trainyard {

/// The figure is that of --by; the best row by it is named below the table.
std::string sweep_text(const SweepStudy&, SweepFigure);

}  // namespace trainyard
