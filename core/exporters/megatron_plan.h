// This file writes the arguments of pretrain_gpt.py that describe a plan, one function per kind.
// Each refuses what has no argument and what the program's own checks would stop.
#pragma once

#include <string>
#include <vector>

#include "core/exporters/exported.h"

namespace trainyard {

using MegatronWords = std::vector<std::string>;

MegatronWords megatron_parallelism(const Scenario&, Limits&);
MegatronWords megatron_batch(const Scenario&, Limits&);
MegatronWords megatron_sharding(const Scenario&, Limits&);
MegatronWords megatron_precision(const Scenario&, Limits&);
MegatronWords megatron_memory(const Scenario&, Limits&);
MegatronWords megatron_optimizer(const Scenario&, Limits&);

/// Returns whether the plan has stage 2 or 3 of ZeRO, which only Megatron-FSDP implements.
bool needs_megatron_fsdp(const Plan&);

}  // namespace trainyard
