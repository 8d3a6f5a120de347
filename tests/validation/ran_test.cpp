// A published run that ran did fit, whatever a prediction says: its memory may be predicted above
// the device's, but not by more than the band.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/validation/bands.h"
#include "core/validation/rows/row_scenario.h"
#include "core/validation/shipped.h"

namespace trainyard {
namespace {

// Rows that do not say what they recomputed, how state was divided or in which format, or that
// trained parts of a model, or whose layers' inputs were on the host, prove nothing about a plan
// that says all of it.
bool leaves_memory_open(const MeasuredRow& row) {
  return row.recompute.empty() || row.zero.empty() || row.precision.empty() ||
         row.notes.find("LoRA") != std::string::npos ||
         row.notes.find("offload") != std::string::npos ||
         row.framework.find("MaxText") != std::string::npos;
}

TEST(RunsThatRan, NoneIsSaidNotToFit) {
  const RowSet set = prepare_rows(published_rows());
  int above = 0, refused = 0;
  std::string which;
  for (const PreparedRow& row : set.rows) {
    if (!row.row.suspect.empty() || row.row.trust == Trust::C || leaves_memory_open(row.row))
      continue;
    const StepEstimate step = predict_whole(row, Parameters{});
    const Bytes capacity = row.workload.scenario.cluster.device.memory.value,
                most = *std::max_element(step.reserved.begin(), step.reserved.end());
    if (most <= capacity) continue;
    ++above;
    const Band band = memory_band(row.workload, step, static_cast<int>(row.blanks().size()));
    if (static_cast<double>(most.value) * (1 + band.low) <= static_cast<double>(capacity.value))
      continue;
    ++refused;
    which += fmt::format(" {} {:.3f} low {:.3f}", row.row.id,
                         static_cast<double>(most.value) / static_cast<double>(capacity.value),
                         band.low);
  }
  EXPECT_GT(above, 0) << "no row tests the bands";
  EXPECT_EQ(refused, 0) << "of " << above << ":" << which;
}

}  // namespace
}  // namespace trainyard
