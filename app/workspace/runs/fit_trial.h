// Trains a plan and what a budget of memory made of it on this machine, so that the saving and
// what it costs in quality are measured and not only predicted.
#pragma once

#include <optional>
#include <string>

#include "app/workspace/runs/training_run.h"
#include "planners/budget/fit_budget.h"

namespace trainyard {

/// One of the two plans as it was trained.
struct FitTrial {
  Bytes predicted{}, measured{};   // peak of the fullest device
  Duration step{};                 // median
  double loss = 0;                 // of the last update
  std::optional<double> accuracy;  // on data that nothing was trained on; of models with classes
};

struct FitTrials {
  std::int64_t steps = 0;
  std::string data;  // in words
  FitTrial start, chosen;
};

/// Trains both with the request's training, data and options; its scenario is not read. The chosen
/// plan gets devices of no more memory than the budget. Blocks. Throws Error{InvalidInput} where
/// nothing was chosen, where the study's cluster is not of this machine, or where the plan itself
/// does not fit there; Error{Cancelled} when stopped.
FitTrials try_fit(const FittedPlan&, const TrainingRequest&);

}  // namespace trainyard
