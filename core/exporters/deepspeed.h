// This file writes a plan as DeepSpeed's JSON configuration: batch, ZeRO, formats, optimizer. The
// warnings say what DeepSpeed takes from the training program instead (stages, experts,
// recomputation). It is for DeepSpeed 0.19, which ignores some unknown keys and refuses others.
#pragma once

#include "core/exporters/exported.h"

namespace trainyard {

/// Takes a legal scenario with a complete plan, of any model. Throws Error{Unsupported} with
/// everything that neither the configuration nor DeepSpeed itself can express.
Exported deepspeed(const Scenario&);
/// Returns everything for which it would throw, each with its place and fix.
Diagnostics deepspeed_refusals(const Scenario&);

}  // namespace trainyard
