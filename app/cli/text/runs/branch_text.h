// Words the answer of `trainyard branches`: each pass of each kind of layer with its schedules, and
// the stages of one of them.
#pragma once

#include <string>

#include "app/workspace/runs/branches/branch_study.h"

namespace trainyard {

/// `shown`: the pass whose stages are listed.
std::string branch_text(const BranchStudy&, const BranchPass* shown);

}  // namespace trainyard
