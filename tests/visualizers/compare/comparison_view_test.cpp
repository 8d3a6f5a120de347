// Tests the view of two results: parts do not overlap, both sides share one axis while they are
// linked, the earlier end is named with its gap, and every figure has its arrow and its word.
#include "visualizers/compare/comparison_view.h"
#include "visualizers/chart/time_plot.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/visualizers/labels.h"
#include "tests/visualizers/small_experiment.h"
#include "visualizers/chart/figure_cards.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/memory/cause_place.h"
#include "visualizers/timeline/rank_deltas.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::says;
using testing_experiment::experiment;
using testing_experiment::Shape;

constexpr Rect kComparisonArea{0, 0, 1000, 640};

ComparisonModel slow_and_quick() {
  return comparison_model(experiment({.stages = 4, .microbatches = 8}), "eight",
                          experiment({.stages = 4, .microbatches = 4}), "four");
}

Drawing drawn(const ComparisonModel& model, const ComparisonState& state) {
  Drawing drawing({kComparisonArea.width, kComparisonArea.height});
  draw_comparison(drawing, kComparisonArea, model, state);
  return drawing;
}

TEST(ComparisonView, PartsFollowEachOtherWithinTheArea) {
  for (const bool linked : {true, false})
    for (const bool deltas : {true, false})
      for (const float height : {0.f, 60.f, 200.f, 640.f, 2000.f}) {
        const ComparisonState state{{}, {}, linked, deltas, {}};
        const ComparisonLayout l = comparison_layout(slow_and_quick(), {0, 0, 800, height}, state);
        float y = 0;
        for (const Rect* part : {&l.ruler, &l.a_bar, &l.a_lanes, &l.b_ruler, &l.b_bar, &l.b_lanes,
                                 &l.memory_bar, &l.memory}) {
          if (part->height <= 0) continue;
          EXPECT_GE(part->y + 0.01f, y);
          y = part->bottom();
        }
        if (height >= 200) {
          EXPECT_LE(y, height + 0.01f);
        }
      }
}

TEST(ComparisonView, TheGapIsTheDifferenceOfTheSteps) {
  const ComparisonModel model = slow_and_quick();
  const Duration gap = model.a.step.length() - model.b.step.length();
  ASSERT_GT(gap, 0ms);
  EXPECT_EQ(model.end, model.a.step.length());
  EXPECT_TRUE(says(drawn(model, {}), "\u221224.0 ms")) << gap.count();
  ComparisonState apart;
  apart.linked = false;
  EXPECT_FALSE(says(drawn(model, apart), "\u221224.0 ms"));
}

TEST(ComparisonView, UnlinkedEachHasItsOwnAxis) {
  const ComparisonModel model = slow_and_quick();
  ComparisonState state;
  state.linked = false;
  state.b.shown = TimeRange{Instant{0}, 4ms};
  const Drawing apart = drawn(model, state);
  state.b.shown = TimeRange{Instant{0}, 8ms};
  EXPECT_NE(to_svg(apart, Theme::Dark), to_svg(drawn(model, state), Theme::Dark));
  state.linked = true;  // then only a's counts
  const std::string linked = to_svg(drawn(model, state), Theme::Dark);
  state.b.shown.reset();
  EXPECT_EQ(linked, to_svg(drawn(model, state), Theme::Dark));
}

TEST(ComparisonView, PeaksOfTheChosenRankAreNamed) {
  const ComparisonModel model = slow_and_quick();
  ComparisonState state;
  state.rank = 0;
  const Drawing drawing = drawn(model, state);
  EXPECT_TRUE(says(drawing, "Memory, Stage 0"));
  EXPECT_TRUE(says(drawing, "A peak 21.0 GiB"));
  EXPECT_TRUE(says(drawing, "B peak 21.0 GiB"));
  state.rank = 99;  // there is none: the last
  EXPECT_EQ(shown_rank(model, state), 3u);
  EXPECT_TRUE(says(drawn(model, state), "Memory, Stage 3"));
}

TEST(ComparisonView, HoversSayWhichSideTheyAreOf) {
  const ComparisonModel model = slow_and_quick();
  const Drawing drawing = drawn(model, {});
  const ComparisonLayout l = comparison_layout(model, kComparisonArea, {});
  const auto over = [&](const Rect& lanes) {
    for (float x = kGutter + 5; x < 900; x += 3) {
      const Point p{x, lanes.y + 8};
      const Item item = hit(drawing, p);
      if (item.kind == ItemKind::Span)
        return describe_comparison(model, kComparisonArea, {}, item, p).where;
    }
    return std::string();
  };
  EXPECT_EQ(over(l.a_lanes).substr(0, 3), "A, ");
  EXPECT_EQ(over(l.b_lanes).substr(0, 3), "B, ");
  const Point p{500, l.memory.y + 40};
  EXPECT_EQ(describe_comparison(model, kComparisonArea, {}, hit(drawing, p), p).title.substr(0, 10),
            "Memory at ");
}

TEST(ComparisonView, DeltasOnlyDrawsChangesInPlaceOfLanes) {
  ComparisonState state;
  state.deltas_only = true;
  const Drawing drawing = drawn(slow_and_quick(), state);
  EXPECT_TRUE(says(drawing, "What B holds more"));
  for (const Tile& tile : drawing.tiles) EXPECT_NE(tile.item, ItemKind::Span);
}

TEST(CausePlace, IsTheLongestStretchOfTheDevice) {
  const ExperimentPtr e = experiment({.stages = 2, .microbatches = 2});
  const auto forward = longest_stretch(*e, DeviceId{0}, "forward");
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->length(), 2ms);
  EXPECT_EQ(longest_stretch(*e, DeviceId{0}, "backward")->length(), 4ms);
  EXPECT_EQ(longest_stretch(*e, DeviceId{0}, "data parallel")->length(), 1ms);
  EXPECT_FALSE(longest_stretch(*e, DeviceId{0}, "expert parallel"));
  EXPECT_FALSE(longest_stretch(*e, DeviceId{0}, "recompute"));
  const auto idle = longest_stretch(*e, DeviceId{0}, "bubble");
  ASSERT_TRUE(idle);
  EXPECT_GT(idle->length(), 0ms);
}

TEST(FigureCards, SayBetterAndWorseInWords) {
  const std::vector<FigureCard> cards = {
      {"Step time", "4.938 s", "4.123 s", "\u22120.815 s", false, Judgement::Better},
      {"Peak memory", "71.7 GiB", "73.1 GiB", "+1.4 GiB", true, Judgement::Worse},
      {"MFU", "40 %", "40 %", "no change", false, Judgement::Same}};
  Drawing drawing({900, kFigureCards});
  draw_figure_cards(drawing, {0, 0, 900, kFigureCards}, cards);
  EXPECT_TRUE(says(drawing, "better"));
  EXPECT_TRUE(says(drawing, "worse"));
  EXPECT_EQ(hit(drawing, {450, 30}), (Item{ItemKind::Other, 1}));
  EXPECT_EQ(describe_figure_card(cards, {ItemKind::Other, 1}).title, "Peak memory");
  EXPECT_EQ(spell_figure_cards(cards).substr(0, 64),
            "Step time 4.938 s, then 4.123 s, \u22120.815 s, better. Peak memory");
}

TEST(RankDeltas, AreOfEveryRankAndSumWithTheBreakdowns) {
  const ExperimentPtr a = experiment({.stages = 4, .microbatches = 8}),
                      b = experiment({.stages = 4, .microbatches = 4});
  const RankDeltas deltas = rank_deltas(*a, *b);
  ASSERT_EQ(deltas.ranks.size(), 4u);
  const auto mine = breakdowns(a->timeline, a->program, a->prices.recompute_share);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(deltas.ranks[i].idle_a, mine[i].bubble);
  EXPECT_EQ(deltas.ranks[0].peak_a, 21_GiB);
  EXPECT_TRUE(rank_deltas(*a, *experiment({.stages = 2})).ranks.empty());
  Drawing drawing({420, 200});
  draw_rank_deltas(drawing, {0, 0, 420, 200}, deltas, {});
  EXPECT_EQ(hit(drawing, {30, 22 + 22 + 11}), (Item{ItemKind::Lane, 1}));
}

}  // namespace
}  // namespace trainyard
