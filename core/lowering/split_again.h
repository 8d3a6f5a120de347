// Another split of a workload's layers over its stages, for who tries many.
#pragma once

#include "core/lowering/workload.h"

namespace trainyard {

/// Makes of the workload what prepare() would have made with this split, for the price of summing
/// its stages: what a layer does is not written down again. Throws Error{InvalidInput} as
/// check_split() does, and then the workload is of no use. The workload's runs must be as prepare()
/// or this left them.
void split_again(Workload&, StageSplit);

}  // namespace trainyard
