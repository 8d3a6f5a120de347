// Estimates what it would cost to keep gathered weights sharded over a smaller group after forward
// (FSDP2's reshard_after_forward=n): backward then gathers them from n ranks only, and until then
// each rank holds an n-th of them. It uses the closed form; a plan can state only the two extremes,
// all ranks (reshard-after-forward=on) and one (off).
#pragma once

#include <cstdint>
#include <vector>

#include "planners/plans/plan_figures.h"

namespace trainyard {

struct Resharding {
  std::int64_t ranks = 1;  // over which weights are sharded between forward and backward
  Bytes held{};            // bytes for that shard, on the device that holds most
  PlanFigures figures;
};

/// Returns every group size that divides the ranks over which zero=3 shards, from 1 to all.
/// Experts, which are sharded over ranks of their own, are resharded as the plan says. Throws
/// Error{InvalidInput} if the plan is not zero=3, or as prepare() does.
std::vector<Resharding> reshardings(const Scenario&, const CostOf&);

}  // namespace trainyard
