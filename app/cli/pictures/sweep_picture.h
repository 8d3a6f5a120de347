// `trainyard sweep` writes a picture and the rows behind it beside its text.
#pragma once

#include <vector>

#include "app/cli/verb.h"
#include "core/estimate/sweep.h"

namespace trainyard {

std::vector<Flag> sweep_file_flags();
/// Writes the files that were given, and says so. Throws Error{Io}.
void write_sweep_files(const SweepStudy&, SweepFigure, const Words&, Streams&);

}  // namespace trainyard
