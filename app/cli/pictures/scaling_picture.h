// What `trainyard scaling` writes beside its text: the picture, and the rows behind it.
#pragma once

#include <vector>

#include "app/cli/verb.h"
#include "core/estimate/scaling.h"

namespace trainyard {

std::vector<Flag> scaling_file_flags();
/// Writes the files that were given, and says so. Throws Error{InvalidInput} for an unknown theme,
/// and Error{Io}.
void write_scaling_files(const ScalingStudy&, const Words&, Streams&);

}  // namespace trainyard
