// Prints the output of `validate`, in parts.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/comparison/simulated_rows.h"
#include "core/validation/validation.h"

namespace trainyard {

/// A measured figure as it is usually published: "1.42 s", "47.0 GB".
std::string measured_text(RowMetric, double);
std::string score_table(const std::string& title, const std::vector<Score>&);
std::string row_table(const RowSet&, const Validation&);
/// The fit in the form of rows of core/cost/parameters.cpp: name, value, prior, and how each moved.
std::string fit_table(const FitResult&);
/// The rows that have an explanation, the worst first.
std::string worst_rows(const std::vector<ExplainedRow>&);
/// The simulator compared with the closed form: by schedule and framework, and the rows that differ
/// most.
std::string difference_table(const RowSet&, const std::vector<SimulatedRow>&);
/// How often each reason occurred, the most frequent first.
std::string skipped_table(const ValidationSummary&);

}  // namespace trainyard
