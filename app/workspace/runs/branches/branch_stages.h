// The steps that studies of branches share, wherever the times of operators are from.
#pragma once

#include <functional>

#include "app/workspace/runs/branches/branch_pass.h"
#include "core/lowering/workload.h"

namespace trainyard {

/// The forward or the backward of a body.
const std::vector<BodyOp>& ops_of(const Body&, bool backward);
/// The operators of a pass; those of merges, with their works, if `merges` says so.
BranchPass operators_of(const Workload&, std::size_t body, bool backward, bool merges);
/// Finds the stages of every schedule of the strategy by the times of the pass, which has two
/// operators or more.
void find_stages(BranchPass&, const CoreSharing&, const BranchQuestion&);
/// Takes what f(body, backward) returns for each pass into the study, if it has two operators, and
/// tells the question's progress.
void study_passes(BranchStudy&, const Workload&, const BranchQuestion&,
                  const std::function<BranchPass(std::size_t body, bool backward)>& f);

}  // namespace trainyard
