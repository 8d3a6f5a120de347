#include "visualizers/schedule/staleness_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/order_programs.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

StalenessModel model_of(std::string_view lanes, const ScheduleShape& shape) {
  auto e = std::make_shared<Experiment>();
  e->program = testing::follow(parse_order(lanes), shape);
  e->program.devices = shape.devices;
  e->program.stages = shape.stages;
  e->timeline = testing::play(e->program, [](const Task&) { return Duration{1ms}; });
  return staleness_model(e);
}

// PipeDream's two stages: the first has two microbatches in flight and keeps two versions.
constexpr std::string_view kStashed =
    "d0/compute  0F0 0F1 0B0 0U0@1 0F2@1 0B1 0U1@2 0F3@2 0B2@1 0U2@3 0B3@2 0U3@4\n"
    "d1/compute  1F0 1B0 1U0@1 1F1@1 1B1@1 1U1@2 1F2@2 1B2@2 1U2@3 1F3@3 1B3@3 1U3@4\n";
constexpr ScheduleShape kTwo{2, 2, 1, 4, {}, Placement::Cyclic};

TEST(StalenessView, CellsAreForwardsWithTheirDelay) {
  const StalenessModel model = model_of(kStashed, kTwo);
  ASSERT_EQ(model.cells.size(), 8u);
  std::vector<int> first;
  for (const StalenessCell& cell : model.cells)
    if (cell.stage == 0) first.push_back(cell.delay);
  EXPECT_EQ(first, (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(model.most, 1);
  EXPECT_TRUE(model.consistent);
  EXPECT_EQ(staleness_sentence(model),
            "weights are up to 1 update old, on stage 0; weights are stashed");
}

TEST(StalenessView, CellsOfAStageFollowEachOtherWithoutGaps) {
  const StalenessModel model = model_of(kStashed, kTwo);
  for (std::size_t i = 1; i < model.cells.size(); ++i)
    if (model.cells[i].stage == model.cells[i - 1].stage) {
      EXPECT_EQ(model.cells[i].start, model.cells[i - 1].end);
    }
}

TEST(StalenessView, SynchronousSchedulesSayThatNothingIsStale) {
  const StalenessModel model =
      model_of("d0/compute  0F0 0F1 0B0 0B1", {1, 1, 2, 1, {}, Placement::Cyclic});
  EXPECT_EQ(model.most, 0);
  EXPECT_EQ(staleness_sentence(model).substr(0, 18), "no weight is stale");
}

TEST(StalenessView, BackwardOfAnotherVersionIsHatchedAndSaid) {
  const StalenessModel model =
      model_of("d0/compute  0F0 0F1 0B0 0U0@1 0B1@1 0U1@2", {1, 1, 1, 2, {}, Placement::Cyclic});
  EXPECT_FALSE(model.consistent);
  Drawing drawing({900, 120});
  draw_staleness(drawing, {0, 0, 900, 120}, model, {});
  EXPECT_TRUE(std::any_of(drawing.marks.begin(), drawing.marks.end(),
                          [](const Mark& mark) { return mark.pattern == Pattern::Ghost; }));
  const auto stale = std::find_if(model.cells.begin(), model.cells.end(),
                                  [](const StalenessCell& c) { return !c.consistent; });
  ASSERT_NE(stale, model.cells.end());
  const Hover hover = describe_staleness(
      model, {ItemKind::Cell, static_cast<std::uint64_t>(stale - model.cells.begin())});
  EXPECT_EQ(hover.title, "Forward, microbatch 1");
  EXPECT_EQ(hover.value, "1 update old");
  EXPECT_EQ(hover.lines[0], "reads weight version 0; its gradient makes version 2");
  EXPECT_EQ(hover.lines[1], "its backward reads another version");
}

TEST(StalenessView, EveryCellIsDrawnAndTheStagesAreTold) {
  const StalenessModel model = model_of(kStashed, kTwo);
  Drawing drawing({1082, 160});
  draw_staleness(drawing, {0, 0, 1082, 160}, model, {});
  const auto cells =
      std::count_if(drawing.marks.begin(), drawing.marks.end(), [](const Mark& mark) {
        return mark.kind == MarkKind::Fill && mark.style.item.kind == ItemKind::Cell;
      });
  EXPECT_EQ(cells, 8);
  const Hover stage = describe_staleness(model, {ItemKind::Lane, 0});
  EXPECT_EQ(stage.title, "Stage 0");
  EXPECT_EQ(stage.value, "1 update");
}

// If cells are narrower than a pixel, the stalest of them is shown.
TEST(StalenessView, NarrowCellsJoinAndTheStalestIsSeen) {
  std::string lane = "d0/compute ";
  for (int i = 0; i < 400; ++i) {
    const std::string n = std::to_string(i), v = std::to_string(i + 1);
    lane += " 0F" + n + (i == 0 ? "" : "@" + n) + " 0B" + n + (i == 0 ? "" : "@" + n) + " 0U" + n +
            "@" + v;
  }
  const StalenessModel model = model_of(lane, {1, 1, 1, 400, {}, Placement::Cyclic});
  Drawing drawing({kGutter + kPlotMargin + 100, 100});
  draw_staleness(drawing, {0, 0, drawing.size.width, 100}, model, {});
  EXPECT_LT(drawing.marks.size(), 200u);
}

}  // namespace
}  // namespace trainyard
