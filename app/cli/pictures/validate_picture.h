// Draws predicted against measured values if --svg or --png is given.
#pragma once

#include "app/cli/verb.h"
#include "core/validation/validation.h"

namespace trainyard {

std::vector<Flag> picture_flags();
/// Does nothing if neither flag is given. Throws Error{Io}.
void write_pictures(const RowSet&, const Validation&, const Words&, Streams&);

}  // namespace trainyard
