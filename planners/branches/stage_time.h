// Tells how long a stage of operators takes on the cores of one device: its groups are dealt among
// the cores, and an operator takes longer while other cores work, because they share caches and
// memory.
#pragma once

#include <vector>

#include "planners/branches/operator_stages.h"

namespace trainyard {

struct OperatorTime {
  Duration alone{};   // on one core, while the others rest
  Duration beside{};  // while all cores work; at least as long as alone
};

struct CoreSharing {
  int cores = 1;    // >= 1
  Duration join{};  // of handing groups to other cores and waiting for the last to end
};

/// The operators of each core in order; as many cores as have any. The longest group goes first,
/// each to the core that has least.
std::vector<std::vector<int>> deal(const OperatorGroups&, const std::vector<OperatorTime>&,
                                   int cores);

/// While a of n cores work, an operator goes on as if it took alone + (beside - alone) * (a - 1) /
/// (n - 1). A stage of one group stays on its core and joins nothing. Times are by operator.
Duration stage_time(const OperatorGroups&, const std::vector<OperatorTime>&, const CoreSharing&);

/// The core that runs an operator, and when, from the start of its stage.
struct OperatorSpan {
  int op = 0, core = 0;
  Duration start{}, end{};
};
/// A stage as stage_time() has it, in the order in which its operators end; the join comes after
/// the last one.
std::vector<OperatorSpan> operator_spans(const OperatorGroups&, const std::vector<OperatorTime>&,
                                         const CoreSharing&);

}  // namespace trainyard
