// This file says on which kind of devices of a mixed cluster each stage of a pipeline lies.
#pragma once

#include <cstddef>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/cluster/mixed.h"
#include "core/plan/placement.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Returns the kind of the devices of a pipeline rank, 0 where all devices are equal. Otherwise the
/// mesh, complete or not, must become one that check_stage_kinds() accepts on the cluster.
std::size_t kind_of_rank(const Cluster&, const Mesh&, DeviceId pipeline_rank);
/// Returns what keeps stages of the plan from lying on one kind each: a rank order in which a
/// stage's devices are not beside each other, a stage that would have devices of two kinds, or
/// stages with copies on several devices. The mesh must be complete (dp set).
Diagnostics check_stage_kinds(const Cluster&, const Mesh&, Placement);

}  // namespace trainyard
