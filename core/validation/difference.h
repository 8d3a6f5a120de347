// This file explains the difference between two plans field by field: each field of the one takes
// the other's value in turn, in a fixed order and on top of those before it, and the resulting
// change of step and peak is that field's part. The parts sum exactly to the whole. In another
// order the parts could differ; that is not computed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// PlanCost is what a plan costs. A PlanPrice throws Error where the scenario cannot run.
struct PlanCost {
  Duration step{};
  Bytes peak{};  // of the fullest device
  friend bool operator==(PlanCost, PlanCost) = default;
};
using PlanPrice = std::function<PlanCost(const Scenario&)>;

struct FieldDifference {
  std::string field;         // "tp", "model"; "pp, split" where neither can change alone
  std::string mine, theirs;  // values in the order of `field`; "" = not stated
  Duration step{};           // added by the change; negative = faster
  Bytes peak{};
};
struct Difference {
  PlanCost mine, theirs;
  std::vector<FieldDifference> fields;  // in the order model, device, devices, links, then
                                        // settings()
};

/// Returns the difference from mine to theirs. Equal fields are left out, and so are data-parallel
/// degrees, which follow from the others. The price must be pure. Throws Error{InvalidInput} where
/// one of the two cannot run.
Difference difference(const Scenario& mine, const Scenario& theirs, const PlanPrice&);

}  // namespace trainyard
