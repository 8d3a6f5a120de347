// Predicted against measured as a file, where --svg or --png asks for it.
#pragma once

#include "app/cli/verb.h"
#include "core/validation/validation.h"

namespace trainyard {

std::vector<Flag> picture_flags();
/// Does nothing where neither flag was given. Throws Error{Io}.
void write_pictures(const RowSet&, const Validation&, const Words&, Streams&);

}  // namespace trainyard
