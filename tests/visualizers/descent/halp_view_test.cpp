// Tests the pictures of HALP's study: that they hold what was found.
#include "visualizers/descent/halp_view.h"

#include <gtest/gtest.h>

#include "tests/visualizers/labels.h"

namespace trainyard {
namespace {

using testing::says;

HalpStudy drawn_study() {
  HalpQuestion q;
  q.bits = {2, 6, 8};
  q.samples = 200, q.weights = 4, q.inner = 200, q.rounds = 5;
  return study_halp(q);
}

TEST(HalpView, ErrorsHaveALineForEveryWayAndAMarkWhereRunsDiverge) {
  const HalpStudy study = drawn_study();
  const Drawing drawing = halp_picture(study);
  for (const char* words : {"the grid follows the gradient", "the grid stays", "floats", "diverges",
                            "6 bits", "Step of the grid by round"})
    EXPECT_TRUE(says(drawing, words)) << words;
  const auto errors = halp_curve(study, HalpPicture::Error);
  ASSERT_TRUE(errors.has_value());
  EXPECT_NE(describe_curve(*errors, {ItemKind::Dot, 1}).title.find("6"), std::string::npos);
  EXPECT_EQ(describe_curve(*errors, {ItemKind::Dot, 4096 * 3}).title, "");
}

TEST(HalpView, RowsAreTheRoundsOfEveryNumberOfBits) {
  const HalpStudy study = drawn_study();
  const DataTable table = halp_table(study);
  std::size_t rounds = 0;
  for (const HalpRow& row : study.rows) rounds += row.centred.rounds.size();
  ASSERT_EQ(table.rows, rounds);
  EXPECT_EQ(std::get<std::int64_t>(table.cell(0, 0)), 2);
  EXPECT_EQ(std::get<double>(table.cell(table.rows - 1, 3)),
            study.row(8).centred.rounds.back().step);
}

TEST(HalpView, OneNumberOfBitsAndOneRoundHaveNoCurve) {
  HalpQuestion q;
  q.bits = {8};
  q.samples = 50, q.weights = 2, q.inner = 10, q.rounds = 1;
  const HalpStudy study = study_halp(q);
  EXPECT_FALSE(says(halp_picture(study), "round"));
  EXPECT_FALSE(halp_curve(study, HalpPicture::Error) || halp_curve(study, HalpPicture::Grid));
  EXPECT_EQ(halp_table(study).rows, 1u);
}

}  // namespace
}  // namespace trainyard
