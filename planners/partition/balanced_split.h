// Chooses how many layers each (virtual) stage of a plan gets, so that the step is as short as
// possible and fits in memory. The embedding and the head count with their own cost, and the layer
// count need not be a multiple of the stage count. There are two forms: one works from prices
// alone, for a search that has priced its layers already; the other works from a scenario and lets
// the closed form decide.
#pragma once

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "planners/partition/priced_chain.h"

namespace trainyard {

/// Prices the layers of a prepared workload independently of its split; memory is what its
/// allocator would reserve. The workload is unchanged on return. Under recompute=blocks a layer is
/// priced as one that is not recomputed, if the workload has such a layer.
PricedChain price_chain(Workload&, const CostModel&);

/// Splits by prices alone. With one stage per device the result is the exact optimum of
/// PartitionObjective::Step. With several, it starts from the optimum for single stages and moves
/// one layer at a time until no move lightens the most loaded device. Stages with fewer layers come
/// first. Throws Error{InvalidInput} if there are more stages than the chain can fill.
StageSplit balanced_split(const PricedChain&, const SplitShape&);

struct BalancedSplit {
  StageSplit split;      // layers per stage, written out
  Duration step{};       // closed-form estimate
  Bytes missing{};       // memory the fullest device lacks; 0 = it fits
  bool even = false;     // whether there is an even split to compare with
  Duration even_step{};  // the same two figures of the even split
  Bytes even_missing{};
  int estimated = 0;  // number of splits priced by the closed form
};
/// The split by prices alone of a scenario, within each device's memory where each has one stage: a
/// search of plans asks for it plan by plan. Throws as balance() does.
StageSplit weighted_split(const Scenario&, const CostModel&);

/// Starts from the split by prices and tries variations with the closed form. The result is never
/// worse than the even split: it fits if the even split fits (or lacks no more memory), and is then
/// no slower. The scenario's own split is ignored. Throws Error{InvalidInput} as prepare() does for
/// any other fault of the scenario, and if its layers cannot fill its stages.
BalancedSplit balance(const Scenario&, const CostModel&);
inline StageSplit balanced_split(const Scenario& scenario, const CostModel& cost) {
  return balance(scenario, cost).split;
}

}  // namespace trainyard
