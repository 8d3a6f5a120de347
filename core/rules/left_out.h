// Finds the rules that see nothing of a run, and why: they are left out, and never silently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/lowering/lower.h"
#include "core/rules/catalogue.h"

namespace trainyard {

/// A RunSight is all that there is to see of a run besides its plan.
struct RunSight {
  bool trains = true;            // else it is a replay, of which only a timeline is known
  bool updates_together = true;  // all stages, once a step
  bool measures_time = true;
};

/// Rules that are left out for one reason, in the order of the catalogue.
struct LeftOutRules {
  std::vector<std::string_view> rules;
  std::string why;  // "the plan does not evaluate; try --set evaluation=..."
  friend bool operator==(const LeftOutRules&, const LeftOutRules&) = default;
};
std::vector<LeftOutRules> left_out(const RuleSet&, const Workload&, const RunSight&);
/// "dead-relu, saturated-activation: the model has no such function".
std::string sentence(const LeftOutRules&);

}  // namespace trainyard
