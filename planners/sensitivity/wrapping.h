// What another wrapping would do: the layers that fully sharded training (zero=3) gathers as one
// unit. A plan's own units are single layers; larger ones send fewer and larger messages and hold
// more that is whole. By closed form; no field of a plan says it.
#pragma once

#include <vector>

#include "planners/plans/plan_figures.h"

namespace trainyard {

struct Wrapping {
  int layers = 1;            // of a unit, of blocks that are repeated; others are units of one
  Bytes unit{};              // weights of the largest unit in full
  Bytes unsharded{};         // weights and gradients in full at the fullest moment, of any stage
  std::int64_t gathers = 0;  // of weights, in one step on the device that has most
  PlanFigures figures;
};

/// The workload with so many neighbouring layers gathered, and their gradients scattered, as one;
/// the bytes that travel stay the same. 1 changes nothing. `layers` must divide the repeated layers
/// of every stage.
Workload wrapped(Workload, int layers);

/// Every number of layers that divides those of all stages, from 1 on. Throws Error{InvalidInput}
/// where the plan is not zero=3, or as prepare() does.
std::vector<Wrapping> wrappings(const Scenario&, const CostOf&);

}  // namespace trainyard
