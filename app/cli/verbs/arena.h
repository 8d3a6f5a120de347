// Implements `doctor arena FILE`, which places the buffers of a file in one range of addresses.
#pragma once

#include "app/cli/verb.h"

namespace trainyard {

/// The flags that only this subject of doctor has.
std::vector<Flag> arena_flags();
/// Returns kNotMet if a capacity is given and no placement within it was found. Throws
/// Error{InvalidInput} as the file's reader does.
int run_arena(const std::string& path, const Words&, Streams&);

}  // namespace trainyard
