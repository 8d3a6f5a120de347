#include "app/workspace/comparison/simulated_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/validation/shipped.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// One row of each schedule and of each framework.
RowSet few() {
  const std::set<std::string> wanted = {
      "korth-t5-22B-sel",    "sc21-t1-06",   "zb-t4-1.5B-ZB-1p-m24",
      "zb-t6-6.2B-ZB-V-m48", "foundry-010",  "nanotron-01",
      "bs-a100-026",         "korth-t4-sel", "titan-01-mem"};
  RowSet set = prepare_rows(published_rows());
  std::erase_if(set.rows, [&](const PreparedRow& r) { return wanted.count(r.row.id) == 0; });
  return set;
}

TEST(SimulatedRows, ClosedFormAndSimulatorMeanTheSameStep) {
  const RowSet set = few();
  const auto rows = simulate_rows(set, Parameters{}, 2);
  EXPECT_GE(rows.size(), 6U);  // steps only: neither one layer nor memory
  for (const SimulatedRow& row : testing::non_empty(rows)) {
    EXPECT_LT(std::abs(row.difference()), 0.05) << set.rows[row.row].row.id;
    EXPECT_NEAR(to_seconds(row.simulated_parts.sum()), row.simulated, 1e-9);
    EXPECT_NEAR(to_seconds(row.closed_parts.sum()), row.closed, 1e-6);
  }
  int counted = 0;
  for (const DifferenceScore& score : difference_scores(set, rows)) counted += score.rows;
  EXPECT_EQ(static_cast<std::size_t>(counted), rows.size());
}

TEST(SimulatedRows, ThreadsChangeNothing) {
  const RowSet set = few();
  const auto one = simulate_rows(set, Parameters{}, 1), three = simulate_rows(set, Parameters{}, 3);
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].simulated, three[i].simulated);
}

}  // namespace
}  // namespace trainyard
