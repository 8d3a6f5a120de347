// Tests the picture of nodes over time: that it holds the blocks, stays in its area, and says of a
// job what the blocks say.
#include "visualizers/placement/occupancy_view.h"

#include <gtest/gtest.h>

#include "tests/visualizers/labels.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

using testing::says;

OccupancyModel two_jobs(int nodes) {
  OccupancyModel model;
  model.kinds = {"probe", "evaluation"};
  model.nodes = nodes, model.capacity = 100'000'000'000;
  model.end = seconds(3600);
  model.panels = {{"Complementary waves",
                   {{0, 0, 0, seconds(0), seconds(1800), 0, 20'000'000'000, false},
                    {1, nodes - 1, 1, seconds(600), seconds(1200), 0, 50'000'000'000, false},
                    {1, nodes - 1, 1, seconds(1200), seconds(3600), 0, 30'000'000'000, true}}}};
  model.peaks.title = "Peaks", model.peaks.unit = "GB";
  model.peaks.parts = {{"peak", Ink::Forward}};
  model.peaks.rows = {{"least loaded", {50}}};
  return model;
}

TEST(OccupancyView, EveryNodeStaysInTheArea) {
  for (const int nodes : {2, 8, 64}) {
    const OccupancyModel model = two_jobs(nodes);
    Drawing drawing({800, 420});
    draw_occupancy(drawing, whole(drawing.size), model, 0);
    std::size_t blocks = 0;
    for (const Mark& mark : drawing.marks) {
      if (mark.style.item.kind != ItemKind::Span) continue;
      ++blocks;
      EXPECT_LE(mark.rect.bottom(), 420) << nodes << " nodes";
      EXPECT_GT(mark.rect.height, 0) << nodes << " nodes";
    }
    EXPECT_EQ(blocks, model.panels.front().blocks.size());
    EXPECT_TRUE(says(drawing, "node 0"));
  }
}

TEST(OccupancyView, AJobIsDescribedByAllOfItsBlocks) {
  const OccupancyModel model = two_jobs(2);
  const Hover hover = describe_occupancy(model, 0, {ItemKind::Span, 1});
  EXPECT_EQ(hover.title, "Job 1, evaluation");
  EXPECT_EQ(hover.where, "node 1");
  EXPECT_EQ(hover.value, format_duration(seconds(3000)));
  ASSERT_EQ(hover.lines.size(), 3u) << "it is paired for a while";
  EXPECT_EQ(hover.lines[1], "adds 50.0 GB to its node");
  EXPECT_EQ(describe_occupancy(model, 0, {ItemKind::Span, 0}).lines.size(), 2u);
  EXPECT_EQ(describe_occupancy(model, 0, {ItemKind::Span, 7}).title, "");
  EXPECT_EQ(describe_occupancy(model, 0, {}).title, "");
  EXPECT_EQ(occupancy_words(model, 0),
            "Complementary waves. Node 0: at most 20.0 of 100 GB, with 1 of 2 jobs. Node 1: at "
            "most 50.0 of 100 GB, with 1 of 2 jobs.");
  EXPECT_EQ(occupancy_words(model, 1), bars_words(model.peaks));
}

}  // namespace
}  // namespace trainyard
