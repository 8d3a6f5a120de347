// Tunings whose figures and costs are formulas of the trial's number.
#pragma once

#include <fmt/format.h>

#include "core/result/tune_report.h"

namespace trainyard::testing {

/// Every fifth trial has no figure; the others get better as they go, but for every third.
inline TuneReport made_tuning(TuneGoal goal, std::size_t trials, double scale) {
  TuneReport report;
  report.model = "gpt2", report.cluster = "h100-sxm:8";
  report.goal = goal;
  report.arms = {{"recompute=none", 0, 0, {}}, {"recompute=full", 0, 0, {}}};
  std::optional<double> best;
  double spent = 0;
  for (std::size_t i = 0; i < trials; ++i) {
    const auto n = static_cast<double>(i);
    TuneTrial trial;
    trial.arm = i % 2;
    trial.set = {fmt::format("micro-batch={}", i + 1), i % 3 == 0 ? "overlap=on" : "overlap=off"};
    trial.cost = 1 + n / 4, trial.spent = spent += trial.cost;
    if (i % 5 == 4)
      trial.why_not = "does not fit: 3.00 GiB over";
    else
      trial.value = scale * (i % 3 == 2 ? 3.0 : 2.0 + 1 / (1 + n));
    trial.better = trial.value && (!best || *trial.value < *best);
    if (trial.better) best = trial.value, report.best = i;
    report.trials.push_back(std::move(trial));
  }
  return report;
}

}  // namespace trainyard::testing
