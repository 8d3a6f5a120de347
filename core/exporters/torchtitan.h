// A plan as the TOML of torchtitan 0.2, the last that reads TOML. It knows the models it ships, and
// drops a word that it does not know without saying so.
#pragma once

#include "core/exporters/exported.h"

namespace trainyard {

/// Of a legal scenario with a complete plan. Throws Error{Unsupported} with all that it has no word
/// for.
Exported torchtitan(const Scenario&);
/// All for which it would throw, each with its place and fix.
Diagnostics torchtitan_refusals(const Scenario&);

}  // namespace trainyard
