// Tests bars, curves, rings and lanes of lessons, and how they share a page.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <iterator>
#include <limits>

#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "visualizers/chart/axes.h"
#include "visualizers/chart/panel.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/lesson/lesson_panels_view.h"

namespace trainyard {
namespace {

BarsModel bars() {
  BarsModel model;
  model.title = "One device";
  model.unit = "GB";
  model.parts = {{"weights", Ink::MemoryWeights, false},
                 {"gradients", Ink::MemoryGradients, false},
                 {"optimizer state", Ink::MemoryOptimizer, false}};
  model.rows = {{"stage 0", {14.9, 14.9, 89.6}, false},
                {"stage 1", {14.9, 14.9, 1.4}, false},
                {"stage 2", {}, true}};
  model.marks = {{1, 90, "you 90 GB", false}, {1, 31.2, "it is 31.2 GB", true}};
  return model;
}

CurveModel curve() {
  CurveModel model;
  model.title = "Bubble against microbatches";
  model.unit = "%";
  model.x_label = "microbatches";
  model.log_x = true;
  model.x = {1, 2, 4, 8, 16, 32};
  model.x_names = {"1", "2", "4", "8", "16", "32"};
  CurveModel::Line line{"1F1B", Ink::Forward, {}, false};
  for (const double m : model.x) line.values.push_back(100 * 3 / (m + 3));
  model.lines = {line, {"bound", Ink::Ghost, {75, 60, 43, 27, 16, 9}, true}};
  model.now = 4;
  model.marks = {{32, 22, "you 22 %", false}, {32, 8.6, "it is 8.60 %", true}};
  return model;
}

LessonLanes lanes() {
  LessonLanes lanes;
  lanes.title = "4 microbatches";
  lanes.words = "1f1b";
  lanes.end = 21;
  for (int stage = 0; stage < 4; ++stage) {
    LessonLanes::Row row{"Stage " + std::to_string(stage), {}};
    row.boxes.push_back({double(stage), double(stage) + 1, "F0", Ink::Forward});
    row.boxes.push_back({12.0 - 2 * stage, 14.0 - 2 * stage, "B0", Ink::Backward});
    lanes.rows.push_back(row);
  }
  return lanes;
}

std::vector<LessonPicture> page() {
  LessonPicture a, b, c, d, e;
  a.kind = LessonPicture::Kind::Bars, a.bars = bars();
  b.kind = LessonPicture::Kind::Curve, b.curve = curve();
  c.kind = LessonPicture::Kind::Ring, c.ring = {"The ring", 8, 3};
  d.kind = LessonPicture::Kind::Lanes, d.lanes = lanes();
  e.kind = LessonPicture::Kind::Hidden, e.title = "32 microbatches";
  return {a, b, c, d, e};
}

TEST(LessonViews, GoldenPictures) {
  Drawing drawing(Size{900, 1300});
  draw_lesson_panels(drawing, {0, 0, 900, 1300}, page());
  testing_golden::expect_golden(drawing, "lesson_panels");
}

TEST(LessonViews, PanelsShareTheHeightAndDoNotOverlap) {
  for (const float height : {300.f, 900.f, 1600.f})
    for (const float large : {1.f, 1.5f}) {
      const std::vector<Rect> areas = panel_areas(page(), {0, 0, 800, height}, large);
      float end = 0;
      for (const Rect& each : testing::non_empty(areas)) {
        EXPECT_NEAR(each.y, end, 0.01);
        end = each.bottom();
      }
      EXPECT_LE(end, height + 0.5f);
    }
}

TEST(LessonViews, NothingIsDrawnOutsideOrOfNothing) {
  Drawing drawing(Size{10, 10});
  draw_bars(drawing, {0, 0, 10, 10}, {});
  draw_curve(drawing, {0, 0, 10, 10}, {});
  draw_lesson_lanes(drawing, {0, 0, 10, 10}, {});
  draw_ring(drawing, {0, 0, 10, 10}, {"", 2, 0});
  draw_lesson_panels(drawing, {0, 0, 10, 10}, page(), 1.5f);
  EXPECT_FALSE(panel_words(page()).empty());
}

TEST(LessonViews, NumbersOfPanels) {
  EXPECT_EQ(panel_number(8.5714, "%"), "8.6 %");
  EXPECT_EQ(panel_number(31.27, "GB"), "31.3 GB");
  EXPECT_EQ(panel_number(0, ""), "0");
  EXPECT_EQ(panel_number(-2.5, "x"), "\u22122.50 x");
  EXPECT_EQ(panel_number(std::numeric_limits<double>::quiet_NaN(), "s"), "\u2013");
}

TEST(Ring, AddsUpThenPassesRound) {
  EXPECT_TRUE(rc::check([](std::uint8_t count) {
    const int n = 2 + count % 15;
    for (int rank = 0; rank < n; ++rank)
      for (int chunk = 0; chunk < n; ++chunk) {
        RC_ASSERT(ring_summed(n, rank, chunk, 0) == 1);
        RC_ASSERT(ring_summed(n, rank, chunk, ring_rounds(n)) == n);
        // A rank's data grows only by what its left neighbour sends.
        for (int round = 0; round < ring_rounds(n); ++round) {
          const int before = ring_summed(n, rank, chunk, round);
          const int after = ring_summed(n, rank, chunk, round + 1);
          const int left = (rank + n - 1) % n;
          const bool received = ring_sent(n, left, round) == chunk;
          if (!received) {
            RC_ASSERT(after == before);
          } else if (round < n - 1) {
            RC_ASSERT(after == ring_summed(n, left, chunk, round) + 1);
          } else {
            RC_ASSERT(after == n);
          }
        }
      }
  }));
  EXPECT_EQ(ring_rounds(8), 14);
}

TEST(RoundValues, LieWithinTheirRange) {
  EXPECT_TRUE(rc::check([](std::uint16_t low, std::uint16_t width) {
    const double a = low, b = a + width + 1;
    const std::vector<double> values = round_values(a, b, 8);
    RC_ASSERT(values.size() >= 2);
    RC_ASSERT(values.size() <= 9);
    RC_ASSERT(values.front() >= a - 1e-6 && values.back() <= b + 1e-6);
    for (std::size_t i = 1; i < values.size(); ++i) RC_ASSERT(values[i] > values[i - 1]);
  }));
}

}  // namespace
}  // namespace trainyard
