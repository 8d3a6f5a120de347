#include "core/validation/cross.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/validation/calibrate_rows.h"
#include "core/validation/shipped.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// Step times of a few sources, as if measured on a machine a little slower than assumed.
RowSet slower(const Parameters& truth) {
  const std::set<std::string> kept = {"korthikanti", "sc21-table1", "titan-a100"};
  std::vector<MeasuredRow> rows;
  for (const MeasuredRow& row : published_rows())
    if (kept.contains(row.source_family)) rows.push_back(row);
  RowSet set = prepare_rows(rows);
  std::erase_if(set.rows, [](const PreparedRow& row) {
    return !row.tunable || row.metric != RowMetric::StepTime;
  });
  for (PreparedRow& row : set.rows) row.measured = predict(row, truth);
  return set;
}

Parameters slow_machine() {
  Parameters p;
  p[Parameter::ProductAmpere] *= 0.93;
  p[Parameter::BusAmpere] *= 0.9;
  return p;
}

TEST(RowFit, GroupsWeighTheSameAndRowsThatDoNotCountNothing) {
  RowSet set = slower(slow_machine());
  set.rows.front().tunable = false;
  const RowFit fit(set);
  EXPECT_TRUE(std::is_sorted(fit.sources.begin(), fit.sources.end()));
  EXPECT_EQ(fit.rows.front().weight, 0);
  double weight = 0;
  std::set<std::string> groups;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    weight += fit.rows[i].weight;
    if (set.rows[i].tunable) groups.insert(set.rows[i].row.group);
    EXPECT_EQ(fit.sources[static_cast<std::size_t>(fit.rows[i].source)],
              set.rows[i].row.source_family);
  }
  EXPECT_NEAR(weight, static_cast<double>(groups.size()), 1e-9);
}

TEST(ThreeRows, SpreadOverASource) {
  const RowSet set = slower(slow_machine());
  const auto three = three_rows(set, "sc21-table1");
  ASSERT_TRUE(three);
  EXPECT_EQ((std::set<std::size_t>{three->begin(), three->end()}).size(), 3u);
  for (const std::size_t i : testing::non_empty(*three))
    EXPECT_EQ(set.rows[i].row.source_family, "sc21-table1");
  EXPECT_FALSE(three_rows(set, "titan-a100"));  // too few to keep any back
}

TEST(CalibrateToRows, FindsTheSlowerMachine) {
  const RowSet set = slower(slow_machine());
  const ParameterProfile profile = calibrate_to_rows(set, "own.csv", 2);
  EXPECT_GT(profile.before.median, 0.03);
  EXPECT_LT(profile.after.median, 0.01);
  EXPECT_LT(profile.after.worst, profile.before.worst);
  EXPECT_EQ(profile.shipped, Parameters());
  EXPECT_LT(profile.parameters[Parameter::ProductAmpere], Parameters()[Parameter::ProductAmpere]);
  // No row is of a TPU: the digits that ship stay, and that they are not known stays too.
  EXPECT_EQ(profile.parameters[Parameter::ProductTpu], Parameters()[Parameter::ProductTpu]);
  EXPECT_NEAR(profile.determined[static_cast<std::size_t>(Parameter::ProductTpu)], 1, 1e-9);
  EXPECT_EQ(profile.rows.substr(0, 9), "own.csv: ");
}

TEST(CalibrateToRows, NeedsARowThatCounts) {
  try {
    calibrate_to_rows({}, "own.csv", 1);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(describe(error).substr(0, 30), "own.csv: expected at least one");
  }
}

TEST(CrossValidateRows, ThreeRowsOfASourceHelpTheOthers) {
  const RowSet set = slower(slow_machine());
  const CrossReport report = cross_validate_rows(set, Parameters(), 2);
  ASSERT_EQ(report.log_errors.size(), set.rows.size());
  double before = 0, after = 0;
  int count = 0;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    if (!report.calibrated[i]) continue;
    before += std::abs(report.log_errors[i]);
    after += std::abs(*report.calibrated[i]);
    ++count;
  }
  ASSERT_GT(count, 0);
  EXPECT_LT(after / count, 0.02);
  EXPECT_LE(after, before + 0.01 * count);
}

}  // namespace
}  // namespace trainyard
