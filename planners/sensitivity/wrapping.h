// Estimates the effect of another wrapping, that is, of the number of layers that fully sharded
// training (zero=3) gathers as one unit. A plan's own units are single layers; larger units send
// fewer and larger messages and hold more unsharded bytes. It uses the closed form; no field of a
// plan states the wrapping.
#pragma once

#include <vector>

#include "planners/plans/plan_figures.h"

namespace trainyard {

struct Wrapping {
  // Layers per unit, for blocks that are repeated; other blocks are units of one layer.
  int layers = 1;
  Bytes unit{};              // full weights of the largest unit
  Bytes unsharded{};         // unsharded weights and gradients at the peak, of any stage
  std::int64_t gathers = 0;  // of weights, per step, on the device with the most
  PlanFigures figures;
};

/// The workload with `layers` neighbouring layers gathered, and their gradients scattered, as one
/// unit; the bytes that travel stay the same. 1 changes nothing. `layers` must divide the repeated
/// layers of every stage.
Workload wrapped(Workload, int layers);

/// Estimates every number of layers, from 1 on, that divides those of all stages. Throws
/// Error{InvalidInput} if the plan is not zero=3, or as prepare() does.
std::vector<Wrapping> wrappings(const Scenario&, const CostOf&);

}  // namespace trainyard
