#include "visualizers/timeline/timeline_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "tests/support/non_empty.h"
#include "tests/support/source_dir.h"
#include "tests/visualizers/labels.h"
#include "tests/visualizers/small_experiment.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/time/span_search.h"
#include "visualizers/timeline/rule_lane.h"

namespace trainyard {
namespace {

using namespace testing_experiment;
using testing::has_label;

// 32 ms over 960 px: 30 px a millisecond.
constexpr Rect kTimelineArea{0, 0, 960 + kGutter + kPlotMargin, 160};

Drawing draw(const TimelineModel& model, const ViewState& state = {}) {
  Drawing drawing({kTimelineArea.width, kTimelineArea.height});
  draw_timeline(drawing, kTimelineArea, model, state);
  return drawing;
}

std::vector<Mark> span_marks(const Drawing& drawing, Item item) {
  std::vector<Mark> found;
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item == item) found.push_back(mark);
  return found;
}

Item span_item(const TimelineModel& model, int stage, std::uint32_t kind, int microbatch) {
  return {ItemKind::Span, find(model.experiment->program, stage, kind, microbatch).value};
}

TEST(TimelineView, RunOfTheSmallExperimentIsItsFormula) {
  for (int p = 1; p <= 4; ++p)
    for (int m = 1; m <= 8; ++m)
      EXPECT_EQ(timeline_model(experiment({p, m})).end, (m + p - 1) * 6ms + 2ms) << p << " " << m;
}

TEST(TimelineView, BoxesLieAtTheirTimes) {
  const TimelineModel model = timeline_model(experiment());
  const Drawing drawing = draw(model);
  // Stage 1 runs its first backward from 4 ms to 8 ms.
  const std::vector<Mark> boxes = span_marks(drawing, span_item(model, 1, kBackward, 0));
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].style.ink, Ink::Backward);
  const LaneSizes sizes = timeline_layout(model, kTimelineArea, {}).sizes;
  EXPECT_EQ(boxes[0].rect, (Rect{kGutter + 4 * 30, kOverview + kRuler + 5 + sizes.pitch, 4 * 30 - 1,
                                 sizes.compute}));
  EXPECT_TRUE(has_label(drawing, "B0"));
  EXPECT_TRUE(has_label(drawing, "3"));
  EXPECT_TRUE(has_label(drawing, "Stage 1"));
}

TEST(TimelineView, EveryInstructionIsDrawnOnceWhenThereIsRoom) {
  const TimelineModel model = timeline_model(experiment({2, 4}));
  const Drawing drawing = draw(model);
  for (std::uint32_t i = 0; i < model.experiment->program.instructions.size(); ++i)
    EXPECT_EQ(span_marks(drawing, {ItemKind::Span, i}).size(), 1u) << i;
}

TEST(TimelineView, RecomputedPartComesFirstInItsInk) {
  const TimelineModel model = timeline_model(experiment({2, 4, 20_GiB, 0.25}));
  const std::vector<Mark> boxes = span_marks(draw(model), span_item(model, 1, kBackward, 0));
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].style.ink, Ink::Recompute);
  EXPECT_FLOAT_EQ(boxes[0].rect.width, 30);  // a quarter of 4 ms
  EXPECT_EQ(boxes[1].style.ink, Ink::Backward);
  EXPECT_FLOAT_EQ(boxes[1].rect.right(), kGutter + 8 * 30 - 1);
}

TEST(TimelineView, IdleIsHatchedAndSaysWhatItWaitsFor) {
  const TimelineModel model = timeline_model(experiment());
  const Drawing drawing = draw(model);
  // Stage 0 has its two forwards done at 4 ms and waits for stage 1's first backward, which ends at
  // 8 ms.
  const Point middle{kGutter + 6 * 30, lane_top(timeline_layout(model, kTimelineArea, {}), 0) + 9};
  const Item item = hit(drawing, middle);
  EXPECT_EQ(item, (Item{ItemKind::Idle, find(model.experiment->program, 0, kBackward, 0).value}));
  const Hover hover = describe_timeline(model, kTimelineArea, {}, item);
  EXPECT_EQ(hover.title, "Idle");
  EXPECT_EQ(hover.where, "Stage 0, compute");
  EXPECT_EQ(hover.value, "4.00 ms");
  ASSERT_EQ(hover.lines.size(), 3u);
  EXPECT_EQ(hover.lines[0], "waits for stage 1 B0");
  EXPECT_EQ(hover.lines[1], "4.000 ms to 8.000 ms, 12.5 % of the run");
  EXPECT_EQ(hover.lines[2], "cause: pipeline fill");
}

TEST(TimelineView, WhatFollowsTheLastInstructionIsIdleToo) {
  const TimelineModel model = timeline_model(experiment());
  // Stage 1 ends at 28 ms with its update at 30 ms; stage 0 at 32 ms.
  const Item item = hit(
      draw(model), {kGutter + 31 * 30, lane_top(timeline_layout(model, kTimelineArea, {}), 1) + 9});
  EXPECT_EQ(item, (Item{ItemKind::Idle, tail_tag(DeviceId{1})}));
  EXPECT_EQ(describe_timeline(model, kTimelineArea, {}, item).lines.back(),
            "cause: pipeline drain");
}

TEST(TimelineView, SpanSaysWhatWhereWhenAndWhy) {
  const TimelineModel model = timeline_model(experiment());
  const Hover hover =
      describe_timeline(model, kTimelineArea, {}, span_item(model, 1, kBackward, 2));
  EXPECT_EQ(hover.title, "Backward, microbatch 2");
  EXPECT_EQ(hover.where, "stage 1, node 0, compute");
  EXPECT_EQ(hover.value, "4.00 ms");
  ASSERT_EQ(hover.lines.size(), 6u);
  EXPECT_EQ(hover.lines[0], "16.000 ms to 20.000 ms, 12.5 % of the run");
  EXPECT_EQ(hover.lines[1], "waited for stage 1 F2");
  EXPECT_EQ(hover.lines[2], "1.00 GFLOP, 25.0 % of peak");
  EXPECT_EQ(hover.lines[3], path_text(model, find(model.experiment->program, 1, kBackward, 2)));
  EXPECT_EQ(hover.lines[4], "frees 1.00 GiB");
  EXPECT_EQ(hover.lines[5], "simulated by hand");
}

TEST(TimelineView, PathHitsMarksAndLivesLieOverTheLanes) {
  const TimelineModel model = timeline_model(experiment());
  const std::size_t plain = draw(model).marks.size();
  ViewState state;
  state.critical_path = true;
  const Drawing path = draw(model, state);
  EXPECT_EQ(path.marks.size(), plain + 2) << "a line and what sets it apart";
  const Mark& line = path.marks.back();
  ASSERT_EQ(line.kind, MarkKind::Line);
  EXPECT_FLOAT_EQ(path.points[line.first].x, kGutter);
  EXPECT_FLOAT_EQ(path.points[line.first + line.count - 1].x, kGutter + 960);
  state = {};
  state.hits =
      std::make_shared<const SpanHits>(find_spans(model, parse_span_query("cat:backward dev:1")));
  EXPECT_EQ(draw(model, state).marks.size(), plain + 8) << "four boxes and four ticks";
  state = {};
  state.marks = {{8ms, 8ms, "here"}, {10ms, 20ms, ""}};
  const Drawing marked = draw(model, state);
  EXPECT_TRUE(has_label(marked, "here"));
  EXPECT_FALSE(span_marks(marked, {ItemKind::Other, mark_tag(1)}).empty());
  EXPECT_EQ(describe_timeline(model, kTimelineArea, state, {ItemKind::Other, mark_tag(0)}).title,
            "here");
  EXPECT_EQ(describe_timeline(model, kTimelineArea, state, {ItemKind::Other, mark_tag(1)}).value,
            "10.0 ms");
  state = {};
  state.lives = ShownLives{DeviceId{1}, "layers: kept", {{2ms, 8ms}, {8ms, 14ms}}};
  EXPECT_TRUE(has_label(draw(model, state), "layers: kept"));
}

TEST(TimelineView, CollectiveSaysBytesAndRate) {
  const TimelineModel model = timeline_model(experiment());
  const Hover hover = describe_timeline(model, kTimelineArea, {}, span_item(model, 0, kReduce, 0));
  EXPECT_EQ(hover.title, "All-reduce gradients");
  EXPECT_EQ(hover.lines[2], "4.00 GiB, 4.29 TB/s among data ranks");
}

TEST(TimelineView, NarrowSpansAreFoldedAndCounted) {
  const TimelineModel model = timeline_model(experiment({1, 4000}));
  const Drawing drawing = draw(model);
  const std::vector<Mark> marks = plain_marks(drawing);
  const auto fold = std::find_if(marks.begin(), marks.end(), [](const Mark& mark) {
    return mark.style.item.kind == ItemKind::Fold;
  });
  ASSERT_NE(fold, marks.end());
  EXPECT_EQ(fold->style.ink, Ink::Backward);  // two thirds of the time
  const Hover hover = describe_timeline(model, kTimelineArea, {}, fold->style.item);
  EXPECT_NE(hover.title.find("narrow spans"), std::string::npos);
  EXPECT_EQ(hover.lines[0].substr(0, 5), "busy ");
  EXPECT_EQ(hover.lines[1].substr(0, 16), "mostly backward,");
  EXPECT_EQ(hover.lines[2], "longest: Backward, microbatch " + hover.lines[2].substr(30));
}

TEST(TimelineView, MarksAreBoundedByPixelsNotBySpans) {
  for (const int microbatches : {5'000, 50'000, 500'000}) {
    const TimelineModel model = timeline_model(experiment({1, microbatches}));
    EXPECT_LT(plain_marks(draw(model)).size(), 2000u) << microbatches;
  }
}

TEST(TimelineView, OnlyWhatIsShownIsDrawn) {
  const TimelineModel model = timeline_model(experiment());
  ViewState state;
  state.shown = TimeRange{5ms, 7ms};  // within stage 0's wait
  const Drawing drawing = draw(model, state);
  EXPECT_TRUE(span_marks(drawing, span_item(model, 0, kForward, 0)).empty());
  EXPECT_EQ(
      span_marks(drawing, {ItemKind::Idle, find(model.experiment->program, 0, kBackward, 0).value})
          .size(),
      1u);
}

TEST(TimelineView, ManyRanksDrawnTogetherLookLikeFewDrawnInTurn) {
  const TimelineModel model = timeline_model(experiment({8, 8000}));
  ASSERT_GT(model.spans.start.size(), 100'000u);
  const auto drawn = [&](int ranks) {
    Drawing d({900, kOverview + kRuler + kFullLanes.pitch * static_cast<float>(ranks)});
    ViewState state;
    state.shown = TimeRange{100ms, 40s};
    draw_timeline(d, {0, 0, d.size.width, d.size.height}, model, state);
    return d;
  };
  const Drawing few = drawn(3), all = drawn(8);
  ASSERT_GT(few.tiles.size(), 300u);
  ASSERT_GT(all.tiles.size(), few.tiles.size());
  for (std::size_t i = 0; i < few.tiles.size(); ++i) {
    ASSERT_EQ(all.tiles[i].rect, few.tiles[i].rect) << i;
    ASSERT_EQ(all.tiles[i].tag, few.tiles[i].tag) << i;
    ASSERT_EQ(all.tiles[i].ink, few.tiles[i].ink) << i;
  }
}

TEST(TimelineView, LanesAreWholePixelsAndFitTheirPitch) {
  EXPECT_EQ(lane_sizes(kFullLanes.pitch), kFullLanes);
  EXPECT_EQ(lane_sizes(1000).pitch, kTallestPitch);
  EXPECT_EQ(lane_sizes(0), lane_sizes(kLeastPitch));
  EXPECT_EQ(lane_sizes(7.8f), (LaneSizes{7, 5, 0, 1}));
  for (float pitch = kLeastPitch; pitch <= kTallestPitch; ++pitch) {
    const LaneSizes sizes = lane_sizes(pitch + 0.5f);
    EXPECT_EQ(sizes.pitch, pitch);
    EXPECT_LE(sizes.comm_top() + sizes.comm, pitch - (pitch < 4 ? 0 : 1)) << "no gap";
    EXPECT_GE(sizes.comm, 1) << pitch;
    EXPECT_GE(sizes.compute, sizes.comm) << pitch;
    for (const float part : {sizes.compute, sizes.between, sizes.comm})
      EXPECT_EQ(part, std::floor(part)) << pitch;
  }
}

TEST(TimelineView, EveryRankComesIntoSightAndCanBePointedAt) {
  const TimelineModel model = timeline_model(experiment({40, 400}));
  const Rect area{0, 0, 900, kOverview + kRuler + 5 + 40 * 7};
  ViewState state;
  state.every_rank = true;
  state.scroll = 500;  // from before
  const TimelineLayout layout = timeline_layout(model, area, state);
  EXPECT_EQ(layout.sizes, lane_sizes(7));
  EXPECT_TRUE(layout.sizes.low());
  EXPECT_EQ(lanes_overhang(layout, 40), 0);
  EXPECT_EQ(lane_top(layout, 0), area.y + kOverview + kRuler + 5);
  EXPECT_LE(lane_top(layout, 39) + layout.sizes.comm_top() + layout.sizes.comm, area.bottom());
  Drawing d({area.width, area.height});
  draw_timeline(d, area, model, state);
  std::size_t folds = 0;
  for (const Mark& mark : testing::non_empty(plain_marks(d))) {
    if (mark.style.item.kind != ItemKind::Fold) continue;
    ++folds;
    const Hover hover = describe_timeline(model, area, state, mark.style.item);
    EXPECT_NE(hover.title.find(" narrow spans"), std::string::npos) << mark.style.item.tag;
  }
  EXPECT_GT(folds, 40u);
  EXPECT_TRUE(has_label(d, "Stage 0"));
  EXPECT_FALSE(has_label(d, "Stage 1")) << "one name for two ranks of 7 px";
  EXPECT_TRUE(has_label(d, "Stage 2"));
  for (std::size_t rank = 0; rank < 40; ++rank)
    EXPECT_EQ(hit(d, {1, lane_top(layout, rank) + 3}), (Item{ItemKind::Lane, rank}));
}

TEST(TimelineView, FewRanksKeepTheirHeight) {
  const TimelineModel model = timeline_model(experiment());
  ViewState state;
  state.every_rank = true;
  EXPECT_EQ(to_svg(draw(model, state), Theme::Dark), to_svg(draw(model), Theme::Dark));
}

TEST(TimelineView, SelectionIsARingOutsideAGap) {
  const TimelineModel model = timeline_model(experiment());
  ViewState state;
  state.selected = span_item(model, 1, kForward, 0);
  const Drawing drawing = draw(model, state);
  const Rect box = span_marks(drawing, state.selected).front().rect;
  const Rect ring{box.x - 3, box.y - 3, box.width + 6, box.height + 6};
  EXPECT_TRUE(std::any_of(drawing.marks.begin(), drawing.marks.end(), [&](const Mark& mark) {
    return mark.kind == MarkKind::Outline && mark.rect == ring && mark.style.ink == Ink::Select;
  }));
}

TEST(TimelineView, ElbowsLeadFromWhatItWaitedForAndToWhatWaitedForIt) {
  const TimelineModel model = timeline_model(experiment({3, 4}));
  ViewState state;
  state.selected = span_item(model, 1, kForward, 0);  // 2 to 4 ms, after F0 of stage 0, before
                                                      // stage 2
  const Drawing drawing = draw(model, state);
  const Viewport v = timeline_layout(model, kTimelineArea, state).shown;
  std::vector<std::pair<Point, Point>> elbows;
  for (const Mark& mark : drawing.marks)
    if (mark.kind == MarkKind::Line && mark.count == 3)
      elbows.emplace_back(drawing.points[mark.first], drawing.points[mark.first + 2]);
  ASSERT_EQ(elbows.size(), 2u);
  const TimelineLayout layout = timeline_layout(model, kTimelineArea, state);
  const float top = lane_top(layout, 0);
  EXPECT_EQ(elbows[0].first, (Point{static_cast<float>(x_of(v, 2ms)), top + layout.sizes.compute}));
  EXPECT_EQ(elbows[1].second,
            (Point{static_cast<float>(x_of(v, 4ms)), top + 2 * layout.sizes.pitch}));
}

TEST(TimelineView, BusyShareFollowsTheRange) {
  const TimelineModel model = timeline_model(experiment());
  EXPECT_TRUE(has_label(draw(model), "78.1 %"));  // 25 of 32 ms
  ViewState state;
  state.range = TimeRange{0ms, 4ms};
  EXPECT_TRUE(has_label(draw(model, state), "100.0 %"));
  EXPECT_TRUE(has_label(draw(model, state), "4.00 ms"));  // the range's own length
}

TEST(TimelineView, AnySizeAndAnyMomentCanBeDrawn) {
  const TimelineModel model = timeline_model(experiment());
  for (const float width : {0.f, 1.f, 140.f, 4000.f})
    for (const auto& shown : {TimeRange{-1h, 1h}, TimeRange{10ms, 10ms}, TimeRange{1000h, 1001h}}) {
      ViewState state;
      state.shown = shown;
      state.cursor = 11ms;
      Drawing drawing({width, width});
      draw_timeline(drawing, {0, 0, width, width}, model, state);
      for (const Mark& mark : testing::non_empty(plain_marks(drawing))) {
        EXPECT_TRUE(std::isfinite(mark.rect.x) && std::isfinite(mark.rect.width));
        EXPECT_GE(mark.rect.width, 0);
      }
    }
}

TEST(TimelineView, GoldenPicture) {
  const TimelineModel model = timeline_model(experiment({2, 4, 20_GiB, 0.25}));
  ViewState state;
  state.range = TimeRange{8ms, 20ms};
  state.cursor = 5ms;
  state.selected = span_item(model, 0, kBackward, 1);
  const std::string svg = to_svg(draw(model, state), Theme::Dark);
  const std::string path =
      std::string(TRAINYARD_SOURCE_DIR) + "/tests/visualizers/golden/timeline.svg";
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  if (svg != golden) std::ofstream("timeline_got.svg", std::ios::binary) << svg;
  EXPECT_TRUE(svg == golden) << "differs from " << path
                             << "; see timeline_got.svg beside this test";
}

TEST(TimelineView, RulesThatFiredHaveALaneOfMarkers) {
  const ExperimentPtr plain = experiment();
  auto watched = std::make_shared<Experiment>(*plain);
  watched->result.rules.clear();
  const float bare = timeline_height(timeline_model(watched));
  EXPECT_FALSE(has_label(draw(timeline_model(watched)), "Rules"));
  FiredRule fired;
  fired.rule = "dead-relu", fired.where = "layers 3";
  fired.sentence = "step 50: all are dead", fired.advice = "another bias";
  fired.at = 10ms;
  FiredRule nowhere = fired;
  nowhere.at.reset();
  watched->result.rules = {nowhere, fired};
  const TimelineModel model = timeline_model(watched);
  const Drawing drawing = draw(model);
  EXPECT_TRUE(has_label(drawing, "Rules"));
  // It has room of its own, beneath all that lanes show.
  EXPECT_EQ(timeline_layout(model, kTimelineArea, {}).lanes.bottom() + rule_lane_height(model),
            kTimelineArea.bottom());
  EXPECT_EQ(timeline_height(model), bare + rule_lane_height(model));
  const Item item{ItemKind::Other, kRuleTag | 1};
  EXPECT_EQ(span_marks(drawing, item).size(), 1u);
  const Hover hover = describe_timeline(model, kTimelineArea, {}, item);
  EXPECT_EQ(hover.title, "dead-relu");
  EXPECT_EQ(hover.lines, (std::vector<std::string>{"step 50: all are dead", "try another bias"}));
}

}  // namespace
}  // namespace trainyard
