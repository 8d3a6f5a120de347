// A plan as DeepSpeed's JSON configuration: batch, ZeRO, formats, optimizer. What DeepSpeed takes
// from the training program instead (stages, experts, recomputation) is said in the warnings. Of
// DeepSpeed 0.19, which ignores some words that it does not know and refuses others.
#pragma once

#include "core/exporters/exported.h"

namespace trainyard {

/// Of a legal scenario with a complete plan, of any model. Throws Error{Unsupported} with all that
/// neither the configuration nor DeepSpeed's own pieces can say.
Exported deepspeed(const Scenario&);
/// All for which it would throw, each with its place and fix.
Diagnostics deepspeed_refusals(const Scenario&);

}  // namespace trainyard
