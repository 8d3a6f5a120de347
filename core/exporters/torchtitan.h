// This file writes a plan as the TOML of torchtitan 0.2, the last version that reads TOML.
// torchtitan knows only the models that it ships, and silently ignores a key that it does not know.
#pragma once

#include "core/exporters/exported.h"

namespace trainyard {

/// Takes a legal scenario with a complete plan. Throws Error{Unsupported} with everything that it
/// cannot express.
Exported torchtitan(const Scenario&);
/// Returns everything for which it would throw, each with its place and fix.
Diagnostics torchtitan_refusals(const Scenario&);

}  // namespace trainyard
