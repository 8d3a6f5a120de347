// This file writes a plan as overrides of a recipe of Megatron-Bridge, the training loop of
// NVIDIA's NeMo framework. Its ConfigContainer builds the classes of Megatron Core, so that what
// Megatron-LM has no argument for, and what it stops at, is refused here too. Its keys are those of
// the guide docs/megatron-lm-to-megatron-bridge.md of August 2026.
#pragma once

#include "core/exporters/exported.h"

namespace trainyard {

/// Takes a legal scenario with a complete plan and returns a script that is started on every node.
/// Throws Error{Unsupported} with everything for which it has no key. A batch ramp of equal spans
/// is train.rampup_batch_size; a listed one is refused.
Exported megatron_bridge(const Scenario&);

}  // namespace trainyard
