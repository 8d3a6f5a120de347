// Simulates measured rows, for comparison with the closed form by which `validate` predicts: two
// ways to compute the same step, which differ if traffic shares links or an order has gaps of its
// own.
#pragma once

#include <string>
#include <vector>

#include "core/validation/rows/row_scenario.h"

namespace trainyard {

struct SimulatedRow {
  std::size_t row = 0;               // index into RowSet::rows
  double closed = 0, simulated = 0;  // seconds per step
  Breakdown closed_parts, simulated_parts;
  double difference() const { return simulated / closed - 1; }
};
/// Simulates every row whose metric is a step, at order grain. The result does not depend on the
/// number of threads.
std::vector<SimulatedRow> simulate_rows(const RowSet&, const Parameters&, int threads);

/// The cause by which the simulator and the closed form differ most, as a share of the step.
struct Cause {
  std::string_view name;  // "bubble"
  double share = 0;       // (simulated - closed form) / step of the closed form
};
Cause largest_cause(const SimulatedRow&);

/// The differences of the rows with one schedule under one framework.
struct DifferenceScore {
  std::string name;  // "1f1b, megatron"
  int rows = 0;
  double median = 0, p90 = 0, max = 0;  // of |difference|
  double bias = 0;                      // mean difference
  Cause cause;                          // mean of the cause that differs most
};
std::vector<DifferenceScore> difference_scores(const RowSet&, const std::vector<SimulatedRow>&);

}  // namespace trainyard
