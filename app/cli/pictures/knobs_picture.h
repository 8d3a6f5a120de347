// Writes sensitivity strips as a picture if --svg or --png is given.
#pragma once

#include "app/cli/verb.h"
#include "planners/sensitivity/sensitivity.h"

namespace trainyard {

std::vector<Flag> strips_picture_flags();
/// Does nothing if neither flag is given. Throws Error{Io}.
void write_strips(const Sensitivity&, const Words&, Streams&);

}  // namespace trainyard
