// A study of branches as what is drawn and listed of it.
#pragma once

#include "app/workspace/runs/branches/branch_study.h"
#include "visualizers/branches/stages_view.h"

namespace trainyard {

/// The schedules of a pass, by the study's own prices; merged operators stand behind the others.
StagesModel stages_model(const BranchStudy&, const BranchPass&);
/// A row for each pass; its item is of kind Dot, with the index of the pass.
DataTable branch_table(const BranchStudy&);

}  // namespace trainyard
