// What it would be to keep gathered weights divided over a smaller group after forward (FSDP2's
// reshard_after_forward=n): backward gathers them from n ranks only, and each holds an n-th of them
// until then. By closed form; a plan says only the two ends, all ranks (reshard-after-forward=on)
// and one (off).
#pragma once

#include <cstdint>
#include <vector>

#include "planners/plans/plan_figures.h"

namespace trainyard {

struct Resharding {
  std::int64_t ranks = 1;  // over which weights are divided between forward and backward
  Bytes held{};            // for that, on the device that holds most
  PlanFigures figures;
};

/// Experts, which are divided among ranks of their own, are resharded as the plan says. Every group
/// that divides the ranks among which zero=3 divides, from 1 to all. Throws
/// Error{InvalidInput} where the plan is not zero=3, or as prepare() does.
std::vector<Resharding> reshardings(const Scenario&, const CostOf&);

}  // namespace trainyard
