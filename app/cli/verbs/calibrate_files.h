// Implements the part of `calibrate` that reads recordings of other runs: traces of profilers,
// nccl-tests and memory snapshots.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/cli/verb.h"
#include "core/cost/calibrated.h"

namespace trainyard {

/// The flags --trace, --nccl, --snapshot and those that go with them.
std::vector<Flag> calibrate_file_flags();
/// Returns whether one of these flags was given.
bool asks_for_calibrate_files(const Words&);
/// Returns "all-reduce", or "message" for one from a rank to another.
std::string_view exchange_words(const ExchangeTiming&);
/// Returns a table of them; nothing where there are none.
std::string exchanges_text(const std::vector<ExchangeTiming>&);
/// Carries them out.
int calibrate_files(const Words&, Streams&);

}  // namespace trainyard
