// Implements the part of `calibrate` that reads recordings of other runs: traces of profilers,
// nccl-tests and memory snapshots.
#pragma once

#include <vector>

#include "app/cli/verb.h"

namespace trainyard {

/// The flags --trace, --nccl, --snapshot and those that go with them.
std::vector<Flag> calibrate_file_flags();
/// Returns whether one of these flags was given.
bool asks_for_calibrate_files(const Words&);
/// Carries them out.
int calibrate_files(const Words&, Streams&);

}  // namespace trainyard
