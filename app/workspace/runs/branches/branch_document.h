// A study of branches as one trainyard/branches document, which both programs write.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/runs/branches/branch_study.h"
#include "core/io/json/json.h"

namespace trainyard {

Json branches_schema();
std::string branch_document(const BranchStudy&);

/// The operators of a group by name, merged ones as "a + b".
std::vector<std::string> group_names(const BranchPass&, const OperatorGroup&);

}  // namespace trainyard
