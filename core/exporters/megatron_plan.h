// What pretrain_gpt.py is told of a plan, kind by kind; each refuses what the program has no word
// for and what its own checks would stop.
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

/// Stage 2 and 3 of ZeRO, which Megatron-FSDP does.
bool needs_megatron_fsdp(const Plan&);

}  // namespace trainyard
