// Runs a scenario in the simulator once: lowers, prices, simulates and judges it.
#pragma once

#include <memory>
#include <stop_token>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"
#include "core/result/experiment.h"

namespace trainyard {

/// The default grain for judging a plan: order; but op if several lanes share a device that holds
/// the whole model, because their memory rises and falls within an action, unless that is too much
/// to simulate at once. Throws as simulate() does.
Grain natural_grain(const Scenario&);

struct OnceOptions {
  Grain grain = Grain::Order;
  const CostModel* cost = nullptr;   // must outlive the call; null = cost_model(scenario)
  const Program* program = nullptr;  // runs instead of the one that the plan is lowered to; must
                                     // outlive the call and have the same counts
  int steps = 0;  // exactly so many; 0: one, or as many as an asynchronous plan takes to settle
  std::stop_token stop = {};
};
/// prepare, lower, price, run, judge; no fixes. Throws as simulate does, and Error{InvalidInput}
/// where a given program is none for this model, cluster and plan.
std::shared_ptr<Experiment> run_once(const Scenario&, const OnceOptions&);

}  // namespace trainyard
