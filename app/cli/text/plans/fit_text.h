// Writes the output of "trainyard fit", for a terminal and as trainyard/fit.
#pragma once

#include <optional>
#include <string>

#include "app/workspace/runs/fit_trial.h"
#include "core/io/json/json.h"
#include "planners/budget/fit_budget.h"

namespace trainyard {

struct FitAnswer {
  const FittedPlan& found;
  std::optional<FitTrials> trials = {};  // where both plans were trained
};

std::string fit_text(const FitAnswer&);
Json fit_schema();
std::string fit_document(const FitAnswer&);  // trainyard/fit@1

}  // namespace trainyard
