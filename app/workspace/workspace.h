// The workspace ties the libraries together: it opens scenarios from words and files, runs them,
// and prices fixes. The command line and the window both stand on it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/cost/calibrated.h"
#include "core/cost/cost_model.h"
#include "core/result/experiment.h"

namespace trainyard {

/// A scenario as words: what --model, --cluster, --plan and --set say.
struct Request {
  std::string model, cluster, plan;   // plan may be empty
  std::vector<std::string> settings;  // "tp=8"
  std::string calibration = {};  // as open_cost_model() reads it: by it prices choose while a plan
                                 // is opened; empty = the workbench's own
};

/// Throws Error{InvalidInput} or Error{Io}. The plan is not yet complete. A setting
/// recompute=optimal becomes the recomputation that fits in least time (app/workspace/recompute.h),
/// and split=balanced, before it, the split of least time (planners/balanced_split.h).
Scenario open(const Request&);
/// The same, but a model or cluster that is not named stays empty, and recompute=optimal then says
/// nothing.
Scenario open_named(const Request&);

/// The grain at which a plan is judged by default: order, but op where several lanes share a device
/// that holds the whole model, because their memory rises and falls within an action, and op is
/// not too much to simulate at once. Throws as simulate does.
Grain natural_grain(const Scenario&);

struct SimulateOptions {
  Grain grain = Grain::Order;
  bool fixes = true;                // price fixes (or the gain, when it fits)
  const CostModel* cost = nullptr;  // must outlive the call; null = cost_model(scenario)
  bool micro_batch_given = true;    // else it is one of the result's assumptions
  std::stop_token stop = {};
};

/// check, lower, price, run, judge. Throws Error{InvalidInput} with all that is wrong,
/// Error{Cancelled} when stopped.
ExperimentPtr simulate(const Scenario&, const SimulateOptions& = {});

/// The closed form. Null = cost_model(scenario).
Result estimate(const Scenario&, const CostModel* = nullptr, bool micro_batch_given = true);

/// Whether a setting or the plan's document says it.
bool gives_micro_batch(const Request&);

/// The cost model of the workbench where no calibration is given: physical_cost_model().
std::unique_ptr<CostModel> cost_model(const Scenario&);

/// What a file, or a document on one line, prices the scenario with, by the document that it is: a
/// trainyard/calibration prices this machine (see calibrate_cluster), a trainyard/profile sets the
/// parameters of the physical model. Throws Error{InvalidInput} or Error{Io}.
std::unique_ptr<CostModel> open_cost_model(const std::string& word, Scenario&);
/// A calibration prices this machine's own devices: raises the cluster's peaks to what was
/// measured, so that no share of them is above one. Throws Error{InvalidInput} for a cluster of
/// others.
void calibrate_cluster(Cluster&, const Calibration&);

}  // namespace trainyard
