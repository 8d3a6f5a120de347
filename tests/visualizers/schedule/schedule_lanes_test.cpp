#include "visualizers/schedule/schedule_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/non_empty.h"
#include "tests/visualizers/labels.h"
#include "tests/visualizers/small_experiment.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/schedule/schedules_view.h"

namespace trainyard {
namespace {

using namespace testing_experiment;
using testing::has_label;

constexpr Rect kLanesArea{0, 0, 960 + kGutter + kPlotMargin, 2 * kSchedulePitch};

struct Models {
  TimelineModel timeline;
  MemoryModel memory;
};
Models models(const testing_experiment::Shape& shape = {}) {
  const ExperimentPtr e = experiment(shape);
  return {timeline_model(e), memory_model(e)};
}

Drawing draw(const Models& m, const Rect& area = kLanesArea) {
  Drawing drawing({area.width, area.height});
  draw_schedule_lanes(drawing, area, schedule_lanes(m.timeline, m.memory), {}, m.timeline.end);
  return drawing;
}

int count(const Drawing& drawing, MarkKind kind, ItemKind item) {
  const std::vector<Mark> marks = plain_marks(drawing);
  return static_cast<int>(std::count_if(marks.begin(), marks.end(), [&](const Mark& mark) {
    return mark.kind == kind && mark.style.item.kind == item;
  }));
}

TEST(ScheduleLanes, EveryActionIsABoxAndEveryDeviceHasItsCurve) {
  const Drawing drawing = draw(models());
  EXPECT_EQ(count(drawing, MarkKind::Box, ItemKind::Span), 2 * (2 * 4 + 1));
  EXPECT_EQ(count(drawing, MarkKind::Line, ItemKind::Capacity), 2);
  EXPECT_EQ(count(drawing, MarkKind::Polygon, ItemKind::Peak), 2);
  EXPECT_TRUE(has_label(drawing, "19.0 GiB"));  // stage 0 holds two microbatches
  EXPECT_TRUE(has_label(drawing, "18.0 GiB"));
  EXPECT_TRUE(has_label(drawing, "B3"));
}

// The line lies where budget over highest says, in every lane.
TEST(ScheduleLanes, BudgetIsToScale) {
  const Models m = models();
  ScheduleLanes lanes = schedule_lanes(m.timeline, m.memory);
  EXPECT_EQ(lanes.budget, 20_GiB);
  EXPECT_EQ(lanes.highest, (20_GiB).value);
  lanes.highest = (40_GiB).value;
  Drawing drawing({kLanesArea.width, kLanesArea.height});
  draw_schedule_lanes(drawing, kLanesArea, lanes, {}, m.timeline.end);
  for (const Mark& mark : testing::non_empty(drawing.marks))
    if (mark.style.item.kind == ItemKind::Capacity) {
      const float bottom =
          mark.rect.y < kSchedulePitch ? 18 + 2 + 24 : kSchedulePitch + 18 + 2 + 24;
      EXPECT_NEAR(bottom - mark.rect.y, 23.f / 2, 0.6f);
    }
}

TEST(ScheduleLanes, WhatIsOverTheBudgetIsHatched) {
  const auto overflows = [](const Drawing& drawing) {
    return std::count_if(drawing.marks.begin(), drawing.marks.end(),
                         [](const Mark& mark) { return mark.pattern == Pattern::Overflow; });
  };
  EXPECT_EQ(overflows(draw(models())), 0);
  EXPECT_GT(overflows(draw(models({2, 4, 18_GiB}))), 0);
}

// If lanes are too low for curves, only the worst device's curve is drawn.
TEST(ScheduleLanes, LowLanesShareOneCurve) {
  const Models m = models({8, 8});
  const Drawing drawing = draw(m, {0, 0, kLanesArea.width, 8 * 9 + kScheduleCurveAll});
  EXPECT_EQ(count(drawing, MarkKind::Polygon, ItemKind::Peak), 1);
}

TEST(ScheduleLanes, HoverTellsWorkAndMemory) {
  const Models m = models();
  const ScheduleLanes lanes = schedule_lanes(m.timeline, m.memory);
  const Hover span = describe_schedule_lanes(
      lanes, kLanesArea, {}, m.timeline.end,
      {ItemKind::Span, find(m.timeline.experiment->program, 0, kForward, 1).value}, 200);
  EXPECT_EQ(span.title, "Forward, microbatch 1");
  const Hover wave =
      describe_schedule_lanes(lanes, kLanesArea, {}, m.timeline.end, {ItemKind::Peak, 0}, 200);
  EXPECT_EQ(wave.value, "19.0 GiB");
}

SchedulePanel panel(const testing_experiment::Shape& shape, const std::string& name) {
  SchedulePanel made = schedule_panel(experiment(shape));
  made.name = name;
  return made;
}

SchedulesModel three() {
  std::vector<SchedulePanel> panels;
  panels.push_back(panel({2, 4}, "first"));
  panels.push_back(panel({2, 8}, "second"));
  panels.push_back({"third", "", "needs two chunks a device", "", {}, {}, {}, {}});
  return schedules_model(std::move(panels), 19_GiB);
}

constexpr Rect kAll{0, 0, 1100, 500};

TEST(SchedulesView, AllShareOneTimeAxisAndOneScale) {
  const SchedulesModel model = three();
  EXPECT_EQ(model.end, model.panels[1].timeline.end);
  EXPECT_EQ(model.highest, (19_GiB).value);
  Drawing drawing({kAll.width, kAll.height});
  draw_schedules(drawing, kAll, model, {});
  // The same millisecond is the same x in both: the first forward of stage 0 is 2 ms long.
  std::vector<float> widths;
  const Viewport v = viewport_of(kAll, {}, model.end);
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item == Item{ItemKind::Span, 0} && mark.kind == MarkKind::Box)
      widths.push_back(mark.rect.width);
  ASSERT_EQ(widths.size(), 2u);
  EXPECT_EQ(widths[0], widths[1]);
  EXPECT_NEAR(widths[0], static_cast<double>(Duration{2ms}.count()) / ns_per_px(v) - 1, 0.01);
}

TEST(SchedulesView, PanelsFillTheHeightWithoutOverlap) {
  const SchedulesModel model = three();
  float y = kAll.y + kRuler;
  for (std::size_t i = 0; i < model.panels.size(); ++i) {
    const Rect area = panel_area(model, kAll, i);
    EXPECT_NEAR(area.y, y, 0.01f);
    y = area.bottom();
  }
  EXPECT_NEAR(y, kAll.bottom(), 0.01f);
}

TEST(SchedulesView, StepTimeOfAnAsynchronousScheduleHasItsTokensBesideIt) {
  SchedulesModel model = three();
  model.panels[0].tokens = "1.08 times the tokens";
  Drawing drawing({kAll.width, kAll.height});
  draw_schedules(drawing, kAll, model, {});
  EXPECT_TRUE(has_label(drawing, "1.08 times the tokens"));
  const Rect header = panel_area(model, kAll, 0);
  const Hover hover =
      describe_schedules(model, kAll, {}, {ItemKind::Other, 0}, {header.x + 20, header.y + 10});
  EXPECT_EQ(hover.title, "first");
  EXPECT_NE(std::find(hover.lines.begin(), hover.lines.end(), "1.08 times the tokens"),
            hover.lines.end());
}

TEST(SchedulesView, WhatIsNotLegalSaysWhy) {
  const SchedulesModel model = three();
  Drawing drawing({kAll.width, kAll.height});
  draw_schedules(drawing, kAll, model, {});
  EXPECT_TRUE(has_label(drawing, "needs two chunks a device"));
  const Rect place = panel_area(model, kAll, 2);
  const Hover hover =
      describe_schedules(model, kAll, {}, {ItemKind::Other, 2}, {place.x + 20, place.y + 5});
  EXPECT_EQ(hover.title, "third");
}

// The second takes longer than the first and has no gap; the other way round it has one.
TEST(SchedulesView, SaysHowMuchSoonerAStepIsOver) {
  const auto gap = [](const testing_experiment::Shape& first,
                      const testing_experiment::Shape& second) {
    std::vector<SchedulePanel> panels;
    panels.push_back(panel(first, "first"));
    panels.push_back(panel(second, "second"));
    const SchedulesModel model = schedules_model(std::move(panels), 19_GiB);
    Drawing drawing({kAll.width, kAll.height});
    draw_schedules(drawing, kAll, model, {});
    // 56 ms against 32 ms
    return has_label(drawing, "\u221224.0 ms, \u221242.9 % against first");
  };
  EXPECT_TRUE(gap({2, 8}, {2, 4}));
  EXPECT_FALSE(gap({2, 4}, {2, 8}));
}

TEST(SchedulesView, MoreThanSixAreScrolledTo) {
  std::vector<SchedulePanel> panels;
  for (int i = 0; i < 9; ++i) panels.push_back(panel({2, 4}, std::to_string(i)));
  const SchedulesModel model = schedules_model(std::move(panels), 19_GiB);
  const float sixth = (kAll.height - kRuler) / 6;
  EXPECT_NEAR(panel_area(model, kAll, 6).y, kAll.bottom(), 0.1f);
  EXPECT_NEAR(panel_area(model, kAll, 6, sixth).bottom(), kAll.bottom(), 0.1f);
  EXPECT_NEAR(schedules_content(model, kAll), 9 * sixth, 0.1f);
}

TEST(SchedulesView, EveryPointIsDescribedOrNot) {
  const SchedulesModel model = three();
  Drawing drawing({kAll.width, kAll.height});
  draw_schedules(drawing, kAll, model, {});
  int described = 0;
  for (float y = 0; y < kAll.height; y += 6)
    for (float x = 0; x < kAll.width; x += 9)
      described += !describe_schedules(model, kAll, {}, hit(drawing, {x, y}), {x, y}).title.empty();
  EXPECT_GT(described, 1000);
}

TEST(SchedulesView, NothingToCompareIsAnEmptyPicture) {
  const SchedulesModel model = schedules_model({}, 1_GiB);
  Drawing drawing({kAll.width, kAll.height});
  draw_schedules(drawing, kAll, model, {});
  EXPECT_FALSE(to_svg(drawing, Theme::Dark).empty());
}

}  // namespace
}  // namespace trainyard
