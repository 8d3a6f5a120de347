// What to do when no plan of a space fits: the plan that needs least, and what could be opened or
// added for it to fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/workspace/plans/plan_study.h"

namespace trainyard {

/// One change of the plan that needs least memory, which the space does not allow.
struct Opening {
  std::string flag;   // "--bound recompute=any", "--cluster with 128 devices"
  std::string words;  // what the plan then has: "recompute=full"
  bool fits = false;
  Bytes memory{};  // reserved on the fullest device
  Bytes margin{};  // negative = over
  Duration step{};
};

struct NoPlan {
  std::optional<PlanId> least;  // of the legal plans; nothing: there is none
  Bytes memory{}, over{};       // of it
  Reason reason;                // of it; of the commonest kind of illegal plan where none is legal
  std::vector<Opening> openings;  // those that fit first, the quickest of them first; then those
                                  // that need least. At most six
};

/// Of a search that found nothing that fits. Deterministic.
NoPlan no_plan(const PlanSpace&, const SearchResult&, const SearchOptions&);

}  // namespace trainyard
