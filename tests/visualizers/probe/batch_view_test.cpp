#include "visualizers/probe/batch_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/visualizers/golden.h"

namespace trainyard {
namespace {

// A product whose measured rates are 0.4 and 0.3 of the roofline's.
BatchStudy made_batches() {
  std::vector<BatchPoint> points;
  for (double batch = 1; batch <= 256; batch *= 2) {
    BatchPoint p{.batch = batch, .flops = 2e6 * batch, .bytes = 4e6 + 8e3 * batch};
    p.arithmetic = p.flops / 200e9, p.traffic = p.bytes / 40e9;
    const double took = p.arithmetic / 0.4 + p.traffic / 0.3;
    p.measured = Banded<double>{took, took, took, {}};
    points.push_back(p);
  }
  BatchStudy study{.what = "matmul forward on a made-up machine", .device = "a made-up core"};
  study.curves.push_back(intensity_curve("matmul", "m", std::move(points)));
  return study;
}

TEST(BatchView, LooksAsApproved) {
  testing_golden::expect_golden(batch_picture(made_batches()), "batch");
}

TEST(BatchView, TableHasEveryBatchOfEveryCurve) {
  BatchStudy study = made_batches();
  study.curves.push_back(study.curves.front());
  study.curves.back().points.front().measured.reset();
  const DataTable table = batch_table(study);
  ASSERT_EQ(table.rows, 18u);
  EXPECT_EQ(std::get<double>(table.cell(1, 1)), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(table.cell(1, 4)), 4e6 / (4e6 + 16e3));
  EXPECT_TRUE(std::holds_alternative<double>(table.cell(0, 6)));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.cell(9, 6)));
}

// Knees beyond the batches that are shown have no place in the chart.
TEST(BatchView, SaysTheKneesThatLieWithinItsBatches) {
  const auto says = [](const BatchStudy& study, const char* words) {
    const Drawing drawing = batch_picture(study);
    return std::any_of(drawing.labels.begin(), drawing.labels.end(),
                       [&](const Label& l) { return l.text == words; });
  };
  BatchStudy study = made_batches();
  EXPECT_TRUE(says(study, "knee, by formula"));
  EXPECT_TRUE(says(study, "knee, measured"));
  study.curves.front().predicted.batch = 0.5;
  study.curves.front().measured.reset();
  EXPECT_FALSE(says(study, "knee, by formula"));
  EXPECT_FALSE(says(study, "knee, measured"));
}

}  // namespace
}  // namespace trainyard
