// PlannedUnits are the pieces of work that a plan has in one step of a device, named as
// RecordedUnits are, so that a recording can be matched with them.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "core/validation/recorded/recorded_units.h"

namespace trainyard {

/// A PlannedUnit is one instruction of the plan's program, or the two of a node's backward.
struct PlannedUnit {
  std::string op, family;
  StepPart part = StepPart::Forward;
  std::vector<WorkCount> works;
  // A collective has these instead of works.
  CollectiveKind collective{};
  std::int64_t ranks = 0;
  bool across = false;  // nodes
  Bytes bytes{};
  Duration predicted{};
  // Instructions with an equal place are parts of the same node's backward.
  std::tuple<std::int32_t, std::uint32_t, std::int32_t> place{};
};

/// Returns "matmul", "optimizer".
std::string op_of(const Work&);
StepPart part_of(const Task&);

/// Returns what one device does in a step of an op-grain program of the workload, in order, its
/// communication last. The model predicts each.
std::vector<PlannedUnit> planned_units(const Workload&, const Program&, std::uint32_t device,
                                       const CostModel&);
/// Returns both gradients of a node in one piece, as autograd computes them.
std::vector<PlannedUnit> gradients_joined(const std::vector<PlannedUnit>&);

}  // namespace trainyard
