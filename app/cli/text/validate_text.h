// What `validate` prints for people, in parts.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/comparison/simulated_rows.h"
#include "core/validation/validation.h"

namespace trainyard {

/// "1.42 s", "47.0 GB": as measured figures are published.
std::string measured_text(RowMetric, double);
std::string score_table(const std::string& title, const std::vector<Score>&);
std::string row_table(const RowSet&, const Validation&);
/// The fit as rows of core/cost/parameters.cpp: name, value, prior, and how each moved.
std::string fit_table(const FitResult&);
/// Those with an explanation, the worst first.
std::string worst_rows(const RowSet&, const Validation&);
/// The simulator beside the closed form: by schedule and framework, and the farthest rows.
std::string difference_table(const RowSet&, const std::vector<SimulatedRow>&);
/// How often each reason was met, the most frequent first.
std::string skipped_table(const RowSet&);

}  // namespace trainyard
