// Writes the files that `trainyard probe` makes beside its text: the picture, and the rows behind
// it.
#pragma once

#include <vector>

#include "app/cli/verb.h"
#include "core/cost/width_probe.h"
#include "core/estimate/batch_study.h"

namespace trainyard {

std::vector<Flag> probe_file_flags();
/// Writes the files that were given, and says so. Throws Error{InvalidInput} for an unknown theme,
/// and Error{Io}.
void write_probe_files(const WidthProbe&, const Words&, Streams&);
void write_probe_files(const BatchStudy&, const Words&, Streams&);

}  // namespace trainyard
