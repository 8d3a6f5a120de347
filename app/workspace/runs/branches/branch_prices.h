// A study of branches by prices: each operator, also a merged one, costs what a cost model says
// that its work takes on one core, and nothing runs.
#pragma once

#include <string>

#include "app/workspace/runs/branches/branch_pass.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Answers branch_study() for prices that are not measured, and throws as it does.
BranchStudy priced_branches(const Scenario&, const BranchQuestion&, const std::string& calibration);

}  // namespace trainyard
