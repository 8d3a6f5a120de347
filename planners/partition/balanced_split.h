// How many layers each (virtual) stage of a plan gets, so that its step is as short as can be and
// fits memory: embedding and head weigh what they weigh, and layers need not divide by stages. Two
// forms: from prices alone, for a search that has priced its layers already, and from a scenario,
// where the closed form has the last word.
#pragma once

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "planners/partition/priced_chain.h"

namespace trainyard {

/// What the bodies of a prepared workload cost, whatever its split; memory as its allocator would
/// reserve it. The workload is as before when it returns. Under recompute=blocks as if no layer
/// were among the first of its stage, where there is one that is not.
PricedChain price_chain(Workload&, const CostModel&);

/// By prices alone: the exact optimum of PartitionObjective::Step where a device has one stage.
/// With several, that of single stages, improved layer by layer until no one moved makes the most
/// loaded device lighter. The stages that have fewer layers stand in front. Throws
/// Error{InvalidInput} where there are more stages than the chain can fill.
StageSplit balanced_split(const PricedChain&, const SplitShape&);

struct BalancedSplit {
  StageSplit split;      // explicit
  Duration step{};       // estimated
  Bytes missing{};       // what the fullest device lacks; 0 = it fits
  bool even = false;     // whether there is an even split to compare with
  Duration even_step{};  // of that
  Bytes even_missing{};
  int estimated = 0;  // splits priced by the closed form
};
/// Starts from prices and tries what else could be shorter by the closed form. Never worse than the
/// even split: fits where that fits (or lacks no more), and is then no longer. The scenario's own
/// split is not read. Throws Error{InvalidInput} as prepare() does for everything else that is
/// wrong with it, and where its layers cannot fill its stages.
BalancedSplit balance(const Scenario&, const CostModel&);
inline StageSplit balanced_split(const Scenario& scenario, const CostModel& cost) {
  return balance(scenario, cost).split;
}

}  // namespace trainyard
