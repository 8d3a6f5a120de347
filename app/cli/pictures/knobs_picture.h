// Sensitivity strips as a file, where --svg or --png asks for it.
#pragma once

#include "app/cli/verb.h"
#include "planners/sensitivity/sensitivity.h"

namespace trainyard {

std::vector<Flag> strips_picture_flags();
/// Does nothing where neither flag was given. Throws Error{Io}.
void write_strips(const Sensitivity&, const Words&, Streams&);

}  // namespace trainyard
