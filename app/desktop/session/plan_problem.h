// A PlanProblem says why a plan cannot run in the words of the window: which settings are at fault,
// and what would help.
#pragma once

#include <QString>

#include <string>
#include <vector>

#include "app/workspace/scenario/workspace.h"

namespace trainyard {

struct PlanProblem {
  QString sentence;                 // empty: there is no problem
  std::vector<std::string> keys;    // the settings at fault, none if the fault lies elsewhere
  std::vector<std::string> wanted;  // "key=value" of those that the plan states itself
  // Changes such as "pp=8" with each of which the plan is legal, best first; empty if none is
  // known.
  std::vector<std::string> fixes;
};

/// What an error of a request means. The fixes are the advice of the error, if it helps, and for
/// each setting at fault the legal value nearest to the one that was wanted.
PlanProblem problem_of(const Error&, const Diagnostics&, const Request&);
/// The same problem for someone who comes from a plan that ran: only settings that differ from it
/// are at fault, and where nothing else helps, their former values do.
PlanProblem narrowed(PlanProblem, const Plan& ran);

}  // namespace trainyard
