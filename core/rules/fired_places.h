// Where in a timeline what has fired shows: beside the work of the tensor, or where a device waits.
#pragma once

#include <vector>

#include "core/program/program.h"
#include "core/rules/fired_rule.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Fills in FiredRule::at where it is empty: of a tensor the end of the first instruction that
/// makes it on its device (of its layer, in programs that have layers), of a device the beginning
/// of its longest idle time. The others stay as they are. Linear in the instructions.
void find_places(std::vector<FiredRule>&, const Program&, const Timeline&);

}  // namespace trainyard
