// This file goes through everything that a stage asks of its device in one step, with how often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/lowering/lower.h"

namespace trainyard {

using VisitCall = std::function<void(const BodyOp&, std::int64_t calls)>;
/// Calls `visit` for each op of each kind of layer of that virtual stage, computation and
/// collectives alike: forward and backward once a microbatch, reductions as often as the plan
/// reduces, gathering and the update once. `stage` is an index into Workload::runs.
void visit_calls(const Workload&, std::size_t stage, const VisitCall& visit);

}  // namespace trainyard
