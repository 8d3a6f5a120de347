// Suggests what to do if no plan of a space fits: the plan that needs least memory, and what could
// be opened or added so that it fits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/workspace/plans/plan_study.h"

namespace trainyard {

/// One change, which the space does not allow, of the plan that needs least memory.
struct Opening {
  std::string flag;   // "--bound recompute=any", "--cluster with 128 devices"
  std::string words;  // the setting of the changed plan: "recompute=full"
  bool fits = false;
  Bytes memory{};  // reserved on the fullest device
  Bytes margin{};  // negative = over
  Duration step{};
};

struct NoPlan {
  std::optional<PlanId> least;  // the legal plan that needs least memory; empty if none is legal
  Bytes memory{}, over{};       // of that plan
  // Why that plan does not fit; if no plan is legal, the most common reason for that.
  Reason reason;
  // Those that fit come first, fastest first; then those that need least memory. There are at most
  // six.
  std::vector<Opening> openings;
};

/// Analyses a search in which nothing fits. The result is deterministic.
NoPlan no_plan(const PlanSpace&, const SearchResult&, const SearchOptions&);

}  // namespace trainyard
