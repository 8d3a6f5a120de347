#include "visualizers/schedule/split_view.h"

#include <gtest/gtest.h>

#include <set>

namespace trainyard {
namespace {

SplitModel uneven() {
  SplitModel model;
  model.layers = {0, 5, 3, 4};
  for (std::uint32_t d = 0; d < 4; ++d) model.device.push_back({d});
  model.ahead = "embedding", model.behind = "head";
  model.times = {Duration{1}, Duration{50}, Duration{30}, Duration{60}};
  return model;
}

const Rect kSplitArea{0, 0, 1000, 70};

TEST(SplitView, EveryLayerIsEquallyWideBetweenEmbeddingAndHead) {
  const SplitModel model = uneven();
  const SplitLayout layout = split_layout(model, kSplitArea);
  EXPECT_FLOAT_EQ(layout.ahead.right(), layout.bar.x);
  EXPECT_FLOAT_EQ(layout.bar.right(), layout.behind.x);
  EXPECT_FLOAT_EQ(layout.layer * 12, layout.bar.width);
  EXPECT_FLOAT_EQ(boundary_x(model, layout, 0), layout.bar.x);  // the embedding alone
  EXPECT_FLOAT_EQ(boundary_x(model, layout, 1), layout.bar.x + 5 * layout.layer);
  SplitModel bare = model;
  bare.ahead.clear(), bare.behind.clear();
  EXPECT_GT(split_layout(bare, kSplitArea).bar.width, layout.bar.width);
}

TEST(SplitView, AHandleIsTakenWithinReach) {
  const SplitModel model = uneven();
  const SplitLayout layout = split_layout(model, kSplitArea);
  const float y = layout.bar.y + 3;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(boundary_at(model, layout, {boundary_x(model, layout, i) + 4, y}), i);
    EXPECT_FALSE(boundary_at(model, layout, {boundary_x(model, layout, i) + 20, y}));
  }
  EXPECT_FALSE(boundary_at(model, layout, {boundary_x(model, layout, 1), 65}));
}

TEST(SplitView, DrawsAStageAndAHandleEachAndSaysWhatTheyAre) {
  const SplitModel model = uneven();
  Drawing drawing({1000, 70});
  draw_split(drawing, kSplitArea, model, {ItemKind::Ruler, 1});
  std::set<std::pair<ItemKind, std::uint64_t>> items;
  for (const Mark& mark : plain_marks(drawing))
    items.insert({mark.style.item.kind, mark.style.item.tag});
  for (std::uint64_t s = 0; s < 4; ++s) EXPECT_EQ(items.count({ItemKind::Cell, s}), 1U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(items.count({ItemKind::Ruler, i}), 1U);
  EXPECT_EQ(describe_split(model, {ItemKind::Ruler, 1}).value, "5 | 3");
  EXPECT_EQ(describe_split(model, {ItemKind::Ruler, 1}).where, "behind 5 layers");
  const Hover first = describe_split(model, {ItemKind::Cell, 0});
  EXPECT_EQ(first.value, "0 layers");
  EXPECT_EQ(first.lines.front(), "and embedding");
  EXPECT_EQ(describe_split(model, {ItemKind::Ruler, 3}).title, "");
}

// Only the simulated split has times.
TEST(SplitView, AMovedBoundaryForgetsTheTimes) {
  EXPECT_EQ(with_boundary(uneven(), 1, 5).times.size(), 4U);
  const SplitModel moved = with_boundary(uneven(), 1, 6);
  EXPECT_EQ(moved.layers, (std::vector<int>{0, 6, 2, 4}));
  EXPECT_TRUE(moved.times.empty());
}

}  // namespace
}  // namespace trainyard
