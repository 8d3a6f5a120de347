// Tests the wall of ImageNet's records: rates that no device can have would say that a row, or a
// device's peak, is wrong.
#include <gtest/gtest.h>

#include "core/validation/rows/row_scenario.h"
#include "core/validation/shipped.h"
#include "core/validation/validation.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// B-GRD-02.
TEST(ImageNetRecords, EveryRowImpliesARateBelowThePeakOfItsDevices) {
  const RowSet set = prepare_rows(record_rows());
  EXPECT_TRUE(set.skipped.empty());
  EXPECT_EQ(set.rows.size(), 8U);
  const Validation v = validate(set, {});
  for (const RowVerdict& verdict : testing::non_empty(v.rows)) {
    const PreparedRow& row = set.rows[verdict.row];
    // The training of an image takes three times the 4.1 billion multiply-adds of its forward.
    const double flops = 3 * 2 * 4.1e9, images = static_cast<double>(*row.row.global_batch),
                 a_device = images * flops / row.measured / static_cast<double>(*row.row.gpus);
    const Device& device = row.workload.scenario.cluster.device;
    const double peak_rate = peak(device, row.workload.layout.precision.math).value;
    EXPECT_NEAR(verdict.implied_mfu, a_device / peak_rate, 0.03 * a_device / peak_rate)
        << row.row.id;
    EXPECT_GT(verdict.implied_mfu, 0.05) << row.row.id;
    EXPECT_LT(verdict.implied_mfu, 0.6) << row.row.id;
  }
}

}  // namespace
}  // namespace trainyard
