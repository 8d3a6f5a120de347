#include "visualizers/probe/staircase_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/made_probe.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

using testing::made_probe;

WidthProbe telling() {
  WidthProbe probe = made_probe(
      {.first = 112,
       .last = 176,
       .seconds =
           [](std::int64_t n) { return (n % 16 == 0 ? 1.4 : 1.5) * testing::stairs_of(n, 16); },
       .noise = 0.01});
  for (ProbedWidth& w : probe.widths)
    w.calibrated = 1.3 * w.roofline, w.learned = 1.45 * w.roofline;
  return probe;
}

TEST(StaircaseView, LooksAsApproved) {
  testing_golden::expect_golden(staircase_picture(telling()), "staircase");
}

TEST(StaircaseView, PointsAtEveryWidthAndDescribesIt) {
  const WidthProbe probe = telling();
  const Drawing drawing = staircase_picture(probe);
  for (std::size_t i = 0; i < probe.widths.size(); ++i) {
    const Item item{ItemKind::Dot, i};
    EXPECT_TRUE(std::any_of(drawing.marks.begin(), drawing.marks.end(), [&](const Mark& m) {
      return m.kind == MarkKind::Disc && m.style.item == item;
    }));
    const Hover hover = describe_staircase(probe, item);
    EXPECT_EQ(hover.title, "n=" + std::to_string(probe.widths[i].width));
    EXPECT_EQ(hover.lines.size(), i == 0 ? 3u : 4u);
  }
  EXPECT_TRUE(describe_staircase(probe, {ItemKind::Dot, probe.widths.size()}).title.empty());
  EXPECT_TRUE(describe_staircase(probe, {}).title.empty());
}

TEST(StaircaseView, TableHasEveryWidth) {
  const WidthProbe probe = telling();
  const DataTable table = staircase_table(probe);
  ASSERT_EQ(table.rows, probe.widths.size());
  const std::size_t at = 129 - 112;
  EXPECT_EQ(std::get<std::int64_t>(table.cell(at, 0)), 129);
  EXPECT_EQ(std::get<std::int64_t>(table.cell(at, 1)),
            seconds(probe.stairs.seconds[at].value).count());
  EXPECT_EQ(std::get<std::string>(table.cell(at, 10)), "up");
  EXPECT_EQ(std::get<std::int64_t>(table.cell(at, 11)), 144);
}

// A page may be small, and a probe may have two widths.
TEST(StaircaseView, DrawsInAnySize) {
  const WidthProbe two =
      made_probe({.first = 8, .last = 9, .seconds = [](std::int64_t) { return 1.0; }});
  for (const Size size : {Size{1, 1}, Size{40, 400}, Size{300, 120}, Size{2000, 1000}}) {
    Drawing drawing(size);
    EXPECT_NO_THROW(draw_staircase(drawing, whole(size), two, {}));
  }
}

}  // namespace
}  // namespace trainyard
