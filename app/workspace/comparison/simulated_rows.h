// Measured rows in the simulator, beside the closed form that `validate` predicts with: two ways to
// the same step, which differ where traffic shares links and where an order has gaps of its own.
#pragma once

#include <string>
#include <vector>

#include "core/validation/row_scenario.h"

namespace trainyard {

struct SimulatedRow {
  std::size_t row = 0;               // index into RowSet::rows
  double closed = 0, simulated = 0;  // seconds of a step
  Breakdown closed_parts, simulated_parts;
  double difference() const { return simulated / closed - 1; }
};
/// Every row whose metric is a step, in order grain. The same whatever the number of threads.
std::vector<SimulatedRow> simulate_rows(const RowSet&, const Parameters&, int threads);

/// The cause of which the simulator has most more (or less), with its share of the step.
struct Cause {
  std::string_view name;  // "bubble"
  double share = 0;       // simulated less closed, over the closed step
};
Cause largest_cause(const SimulatedRow&);

/// Rows of one schedule under one framework.
struct DifferenceScore {
  std::string name;  // "1f1b, megatron"
  int rows = 0;
  double median = 0, p90 = 0, max = 0;  // of |difference|
  double bias = 0;                      // mean difference
  Cause cause;                          // mean of the cause that differs most
};
std::vector<DifferenceScore> difference_scores(const RowSet&, const std::vector<SimulatedRow>&);

}  // namespace trainyard
