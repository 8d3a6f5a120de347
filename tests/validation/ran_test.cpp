// A published run that ran did fit, whatever a prediction says: its memory may be predicted above
// the device's, but not by more than the band.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/validation/bands.h"
#include "core/validation/rows/row_scenario.h"
#include "core/validation/shipped.h"

namespace trainyard {
namespace {

TEST(RunsThatRan, NoneIsSaidNotToFit) {
  const RowSet set = prepare_rows(published_rows());
  int above = 0, refused = 0;
  std::string which;
  for (const PreparedRow& row : set.rows) {
    if (!row.row.suspect.empty() || row.row.trust == Trust::C) continue;
    const StepEstimate step = predict_whole(row, Parameters{});
    const Bytes capacity = row.workload.scenario.cluster.device.memory.value,
                most = *std::max_element(step.reserved.begin(), step.reserved.end());
    if (most <= capacity) continue;
    ++above;
    const Band band = memory_band(row.workload, step, static_cast<int>(row.blanks().size()));
    if (static_cast<double>(most.value) * (1 + band.low) <= static_cast<double>(capacity.value))
      continue;
    ++refused;
    which += " " + row.row.id;
  }
  EXPECT_GT(above, 0) << "no row tests the bands";
  EXPECT_EQ(refused, 0) << "of " << above << ":" << which;
}

}  // namespace
}  // namespace trainyard
