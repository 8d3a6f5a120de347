// Runs of A against runs of B: for each figure that they reached, whether B is better, and how many
// runs would tell (core/result/outperforming.h). Runs that share their seeds are pairs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "app/workspace/runs/run_scores.h"
#include "core/result/outperforming.h"

namespace trainyard {

/// Returns whether all runs of one side began before those of the other: then whatever else the
/// machine did meanwhile is in a difference of their steps too.
bool came_apart(const std::vector<RunScore>& a, const std::vector<RunScore>& b);
/// Returns a run's figure by its key, such as "accuracy"; nothing where it has none.
std::optional<double> figure_of(const RunScore&, std::string_view key);
/// Returns the figures that every run of both sides has, quality before time: accuracy, mean return
/// and loss after training where runs were evaluated, else the loss at their end; and the step.
std::vector<JudgedFigure> judge(const std::vector<RunScore>& a, const std::vector<RunScore>& b);

}  // namespace trainyard
