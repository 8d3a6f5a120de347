// What `calibrate` reads of other people's runs: nccl-tests and memory snapshots.
#pragma once

#include <vector>

#include "app/cli/verb.h"

namespace trainyard {

/// --nccl, --snapshot and what goes with them.
std::vector<Flag> calibrate_file_flags();
/// Whether one of them was given.
bool asks_for_calibrate_files(const Words&);
/// Does what they ask for.
int calibrate_files(const Words&, Streams&);

}  // namespace trainyard
