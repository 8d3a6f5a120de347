#include "core/validation/cluster_factor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "core/validation/calibrate_rows.h"
#include "core/validation/shipped.h"

namespace trainyard {
namespace {

ValidatedRow error_of(const std::string& group, const std::string& source, double error) {
  ValidatedRow row;
  row.group = group, row.source = source, row.log_error = error;
  return row;
}

TEST(ErrorSpread, IsThatOfGroupsAndOfRowsInThem) {
  // Two groups at +-0.1, whose rows are 0.02 from their means: their variance is 2 x 0.02^2 / 1.
  std::vector<ValidatedRow> rows = {error_of("a", "s", 0.08), error_of("a", "s", 0.12),
                                    error_of("b", "t", -0.12), error_of("b", "t", -0.08)};
  const StepErrorSpread spread = error_spread(rows, false);
  EXPECT_NEAR(spread.within, std::sqrt(2 * 0.02 * 0.02), 1e-12);
  EXPECT_NEAR(spread.between, std::sqrt(0.1 * 0.1 - 2 * 0.02 * 0.02 / 2), 1e-12);
  // Memory, routed rows and those of a source that is left out do not count.
  const StepErrorSpread before = spread;
  rows.push_back(error_of("a", "s", 5)), rows.back().memory = true;
  rows.push_back(error_of("c", "s", 5)), rows.back().routed = true;
  rows.push_back(error_of("d", "u", 5));
  EXPECT_EQ(error_spread(rows, false, "u").between, before.between);
  EXPECT_EQ(error_spread(rows, false, "u").within, before.within);
  EXPECT_EQ(error_spread({}, false).between, 0);
}

TEST(ClusterFactor, IsDrawnTowardsOneByTheSpread) {
  // As far apart between groups as within them: one row is trusted by half, three by three
  // quarters.
  const StepErrorSpread equal{0.1, 0.1};
  EXPECT_NEAR(cluster_factor({0.2}, equal).factor, std::exp(-0.1), 1e-12);
  EXPECT_NEAR(cluster_factor({0.1, 0.2, 0.3}, equal).factor, std::exp(-0.15), 1e-12);
  EXPECT_NEAR(cluster_factor({0.2}, equal).narrowing, std::sqrt(0.75), 1e-12);
  EXPECT_NEAR(cluster_factor({0.1, 0.2, 0.3}, equal).narrowing, std::sqrt(0.625), 1e-12);
  EXPECT_EQ(cluster_factor({}, equal), StepFactor{});
  EXPECT_EQ(cluster_factor({0.2}, {}), StepFactor{});
}

RC_GTEST_PROP(ClusterFactor, MoreRowsSayMoreAndNeverMoreThanTheyMeasured, ()) {
  const StepErrorSpread spread{*rc::gen::inRange(1, 500) * 1e-3, *rc::gen::inRange(1, 500) * 1e-3};
  const double error = *rc::gen::inRange(-900, 900) * 1e-3;
  double before = 0, width = 1;
  for (std::size_t rows = 1; rows <= kFactorRows; ++rows) {
    const StepFactor steps = cluster_factor(std::vector<double>(rows, error), spread);
    const double moved = std::abs(std::log(steps.factor));
    RC_ASSERT(moved <= std::abs(error) + 1e-12);
    RC_ASSERT(moved >= before);
    RC_ASSERT(steps.narrowing < width);
    RC_ASSERT(error == 0 || (steps.factor < 1) == (error > 0));
    before = moved, width = steps.narrowing;
  }
}

// Clusters are drawn as the prior says, and rows as they spread: the factor of three rows then
// leaves errors of a fourth that are as wide as it says.
TEST(ClusterFactor, LeavesWhatItSays) {
  const Random random(7);
  std::uint64_t drawn = 0;
  // The sum of twelve uniform numbers is nearly normal.
  const auto normal = [&] {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
      sum += static_cast<double>(random.between(drawn++, 0, 1 << 20)) / (1 << 20);
    return sum;
  };
  const StepErrorSpread spread{0.08, 0.05};
  constexpr int kClusters = 20000;
  double before = 0, after = 0, narrowing = 1;
  for (int i = 0; i < kClusters; ++i) {
    const double cluster = spread.between * normal();
    const auto row = [&] { return cluster + spread.within * normal(); };
    const StepFactor steps = cluster_factor({row(), row(), row()}, spread);
    const double fourth = row(), left = fourth + std::log(steps.factor);
    before += fourth * fourth, after += left * left, narrowing = steps.narrowing;
  }
  EXPECT_NEAR(std::sqrt(after / before), narrowing, 0.02);
}

// The shipped rows of one group, as if measured on a cluster whose steps all last longer.
RowSet slower_group(double factor) {
  std::vector<MeasuredRow> rows;
  for (const MeasuredRow& row : published_rows())
    if (row.source_family == "sc21-table1") rows.push_back(row);
  RowSet set = prepare_rows(rows);
  std::erase_if(set.rows, [](const PreparedRow& row) {
    return !row.tunable || row.metric != RowMetric::StepTime;
  });
  for (PreparedRow& row : set.rows) row.measured = factor * predict(row, Parameters{});
  return set;
}

TEST(CalibrateToRows, FewRowsGiveOneFactor) {
  RowSet all = slower_group(1.2);
  ASSERT_GT(all.rows.size(), kFactorRows);
  for (std::size_t count = 1; count <= kFactorRows; ++count) {
    RowSet few = all;
    few.rows.resize(count);
    const ParameterProfile profile = calibrate_to_rows(few, "own.csv", 1);
    ASSERT_TRUE(profile.steps);
    EXPECT_EQ(profile.devices, std::vector{few.rows.front().workload.scenario.cluster.device.id});
    EXPECT_EQ(profile.parameters, profile.shipped);
    EXPECT_EQ(*profile.steps, cluster_factor(std::vector<double>(count, -std::log(1.2)),
                                             error_spread(validated_rows().rows(), false)));
    EXPECT_GT(profile.steps->factor, 1.05);
    EXPECT_LT(profile.steps->factor, 1.2);
    EXPECT_NEAR(profile.before.worst, 1 - 1 / 1.2, 1e-9);
    EXPECT_NEAR(profile.after.worst, 1 - profile.steps->factor / 1.2, 1e-9);
  }
  all.rows.resize(kFactorRows + 1);
  EXPECT_FALSE(calibrate_to_rows(all, "own.csv", 1).steps);
}

TEST(RowsGivenBack, AreTheMiddleAndTheSixths) {
  RowSet set = slower_group(1);
  set.rows.resize(7, set.rows.front());
  const double times[] = {4, 1, 7, 3, 6, 2, 5};
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < 7; ++i) set.rows[i].measured = times[i], rows.push_back(i);
  const auto measured = [&](std::size_t count) {
    std::vector<double> found;
    for (const std::size_t i : rows_given_back(set, rows, count))
      found.push_back(set.rows[i].measured);
    return found;
  };
  EXPECT_EQ(measured(1), (std::vector<double>{4}));
  EXPECT_EQ(measured(2), (std::vector<double>{2, 6}));
  EXPECT_EQ(measured(3), (std::vector<double>{2, 4, 6}));
}

}  // namespace
}  // namespace trainyard
