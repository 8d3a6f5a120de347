// The workspace ties the libraries together: it opens scenarios from words and files, runs them,
// and prices fixes. The command line and the window both stand on it.
#pragma once

#include <stop_token>

#include "app/workspace/scenario/closed_form.h"
#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/request.h"
#include "app/workspace/scenario/run_once.h"
#include "core/cost/cost_model.h"
#include "core/result/experiment.h"

namespace trainyard {

/// Throws Error{InvalidInput} or Error{Io}. The plan is not yet complete. A setting
/// recompute=optimal, or optimal:20GiB with a budget of each device, becomes the recomputation that
/// fits in least time (app/workspace/scenario/recompute.h), and split=balanced, before it, the
/// split of least time (planners/partition/balanced_split.h). offload-layers=dynamic becomes the
/// fewest layers with which the plan fits (app/workspace/scenario/offloaded_layers.h).
Scenario open(const Request&);
/// The same, but a model or cluster that is not named stays empty, and recompute=optimal then has
/// no effect.
Scenario open_named(const Request&);

struct SimulateOptions {
  Grain grain = Grain::Order;
  bool fixes = true;                 // price fixes (or the gain, when it fits); of plans only
  const Program* program = nullptr;  // runs instead of the plan's own (run_once.h); must outlive
                                     // the call
  const CostModel* cost = nullptr;   // must outlive the call; null = cost_model(scenario)
  bool ramp = true;                  // price the phases of a batch ramp too
  bool micro_batch_given = true;     // else it is one of the result's assumptions
  std::stop_token stop = {};
};

/// Checks, lowers, prices, runs and judges. Throws Error{InvalidInput} with every error, and
/// Error{Cancelled} when stopped.
ExperimentPtr simulate(const Scenario&, const SimulateOptions& = {});

/// True if a setting, or the plan's document, states the micro-batch.
bool gives_micro_batch(const Request&);

}  // namespace trainyard
