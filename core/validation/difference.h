// What lies between two plans, field by field: each field of the one takes the other's value in
// turn, in a fixed order and on top of those before it, and what the step and the peak change by
// is that field's part. The parts sum to the whole, exactly; what a part would be in another order
// is not said.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// What a plan costs. Throws Error where the scenario cannot run.
struct PlanCost {
  Duration step{};
  Bytes peak{};  // of the fullest device
  friend bool operator==(PlanCost, PlanCost) = default;
};
using PlanPrice = std::function<PlanCost(const Scenario&)>;

struct FieldDifference {
  std::string field;         // "tp", "model"; "pp, split" where neither can change alone
  std::string mine, theirs;  // in the order of `field`; "" = not stated
  Duration step{};           // added by the change; negative = quicker
  Bytes peak{};
};
struct Difference {
  PlanCost mine, theirs;
  std::vector<FieldDifference> fields;  // model, device, devices, links, then settings() in order
};

/// From mine to theirs; fields that are equal are left out, and so are data-parallel degrees, which
/// follow from the others. Price must be pure. Throws Error{InvalidInput} where one of the two
/// cannot run.
Difference difference(const Scenario& mine, const Scenario& theirs, const PlanPrice&);

}  // namespace trainyard
