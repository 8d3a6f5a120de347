// Tests that rows judged a few at a time give the figures of all rows at once.
#include <gtest/gtest.h>

#include "core/validation/rows/row_context.h"
#include "core/validation/shipped.h"
#include "core/validation/validation.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

void expect_equal(const std::vector<Score>& a, const std::vector<Score>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].metric + a[i].name, b[i].metric + b[i].name);
    EXPECT_EQ(a[i].rows, b[i].rows) << a[i].name;
    EXPECT_EQ(a[i].groups, b[i].groups) << a[i].name;
    EXPECT_EQ(a[i].mean, b[i].mean) << a[i].name;
    EXPECT_EQ(a[i].median, b[i].median) << a[i].name;
    EXPECT_EQ(a[i].p90, b[i].p90) << a[i].name;
    EXPECT_EQ(a[i].inside_band, b[i].inside_band) << a[i].name;
  }
}

std::vector<MeasuredRow> some_rows() {
  std::vector<MeasuredRow> rows;
  const std::size_t stride = testing::cases(2, 40);  // more than are judged at once, but all take
                                                     // long
  for (std::size_t i = 0; i < published_rows().size(); i += stride)
    rows.push_back(published_rows()[i]);
  return rows;
}

TEST(ValidationSummary, RowByRowGivesTheFiguresOfAllAtOnce) {
  const std::vector<MeasuredRow> rows = some_rows();
  const ValidateOptions options{.explained = 3};
  const RowSet set = prepare_rows(rows);
  const ValidationSummary all = summarize_rows(set, validate(set, options));

  const ValidationSummary streamed = summarize_rows(
      [&](const std::function<void(MeasuredRow)>& take) {
        for (const MeasuredRow& row : rows) take(row);
      },
      options);
  EXPECT_EQ(streamed.predicted, all.predicted);
  EXPECT_EQ(streamed.skipped, all.skipped);
  EXPECT_EQ(streamed.reasons, all.reasons);
  EXPECT_EQ(streamed.first_reason, all.first_reason);
  EXPECT_EQ(streamed.kendall, all.kendall);
  EXPECT_EQ(streamed.mean_half_width, all.mean_half_width);
  expect_equal(streamed.by_metric, all.by_metric);
  expect_equal(streamed.by_source, all.by_source);
  ASSERT_EQ(streamed.worst.size(), all.worst.size());
  for (std::size_t i = 0; i < all.worst.size(); ++i) {
    EXPECT_EQ(streamed.worst[i].row.row.id, all.worst[i].row.row.id);
    EXPECT_EQ(streamed.worst[i].verdict.explanation, all.worst[i].verdict.explanation);
  }
}

// Families follow from all rows, whether those are read whole or one by one.
TEST(RowContext, NamesTheFamiliesThatReadingWholeNames) {
  RowContext context;
  std::vector<MeasuredRow> rows = published_rows();
  std::vector<std::string> families;
  for (MeasuredRow& row : rows) {
    families.push_back(std::exchange(row.source_family, ""));
    context.see(row);
  }
  context.settle();
  for (std::size_t i = 0; i < testing::non_empty(rows).size(); ++i)
    EXPECT_EQ(context.filled(rows[i]).row.source_family, families[i]) << rows[i].id;
}

}  // namespace
}  // namespace trainyard
