// Changes a workload's split of layers over stages cheaply, for callers that try many splits.
#pragma once

#include "core/lowering/workload.h"

namespace trainyard {

/// Turns the workload into what prepare() would make with this split, at the cost of summing its
/// stages only. Throws Error{InvalidInput} as check_split() does; the workload is then unusable.
/// The workload's runs must be as prepare() or this function left them.
void split_again(Workload&, StageSplit);

}  // namespace trainyard
