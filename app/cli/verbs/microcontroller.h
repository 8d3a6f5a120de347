// export --to microcontroller: a trained model as a C program, with what it needs and loses.
#pragma once

#include <vector>

#include "app/cli/verb.h"
#include "core/plan/plan.h"

namespace trainyard {

/// The flags of `export` that this format alone takes.
std::vector<Flag> microcontroller_flags();
/// Ends with kNotMet, and writes all the same, where the program does not fit on the chip.
int export_microcontroller(const Scenario&, const Words&, Streams&);

}  // namespace trainyard
