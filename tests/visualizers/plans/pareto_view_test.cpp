#include "visualizers/plans/pareto_view.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>

#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "tests/visualizers/labels.h"
#include "tests/visualizers/plans/pareto_points.h"
#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

using testing::says;
using testing_pareto::kGib;
using testing_pareto::random;
using testing_pareto::small;

Drawing draw(const ParetoModel& m, const ParetoState& state = {}, Size size = kParetoSize) {
  Drawing drawing(size);
  draw_pareto(drawing, whole(size), m, state);
  return drawing;
}

std::set<std::uint64_t> tags(const Drawing& drawing, ItemKind kind) {
  std::set<std::uint64_t> found;
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item.kind == kind) found.insert(mark.style.item.tag);
  return found;
}

Point place(const ParetoModel& m, std::size_t i, const ParetoState& state = {}) {
  const ParetoPlot plot = pareto_plot(m, whole(kParetoSize), state);
  return plot.at(value_of(m, m.points[i], state.x), value_of(m, m.points[i], state.y));
}

TEST(ParetoModel, TheFrontIsByTimeAndTheStairGoesDown) {
  const ParetoModel m = small();
  EXPECT_EQ(m.front, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(best_of(m), 0u);
  EXPECT_EQ(stair(m, ParetoAxis::Memory, ParetoAxis::Step), (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(stair(m, ParetoAxis::Step, ParetoAxis::Memory), (std::vector<std::size_t>{0, 1, 2}));
  // The quickest is the cheapest and has the highest rate: one plan beats all on both.
  EXPECT_EQ(stair(m, ParetoAxis::Money, ParetoAxis::Step), std::vector<std::size_t>{0});
  EXPECT_EQ(stair(m, ParetoAxis::Rate, ParetoAxis::Step), std::vector<std::size_t>{0});
  EXPECT_EQ(stair(m, ParetoAxis::Memory, ParetoAxis::Rate), (std::vector<std::size_t>{2, 1, 0}));
}

TEST(ParetoModel, KeysWalkTheFrontAndStayAtItsEnds) {
  const ParetoModel m = small();
  ParetoState state;
  EXPECT_EQ(step_along(m, state, 1), 0u) << "from nothing to the best";
  state.selected = 0;
  EXPECT_EQ(step_along(m, state, 1), 0u) << "the right end";
  EXPECT_EQ(step_along(m, state, -1), 1u);
  state.selected = 1;
  EXPECT_EQ(step_along(m, state, -1), 2u);
  state.selected = 3;  // 60 GiB, beside the front
  EXPECT_EQ(step_along(m, state, -1), 1u);
  EXPECT_EQ(step_along(m, state, 1), 0u);
  EXPECT_EQ(step_along(ParetoModel{}, {}, 1), std::nullopt);
}

TEST(ParetoModel, HoversSayThePlanItsFiguresAndWhy) {
  const ParetoModel m = small();
  const Hover front = describe_point(m, 1, "TP 8, PP 4", "");
  EXPECT_EQ(front.title, "TP 8, PP 4");
  EXPECT_EQ(front.where, "number 2 of the front by time");
  EXPECT_EQ(front.value, "4.300 s, 52.0 GiB");
  EXPECT_EQ(front.lines.front(), "28.0 GiB spare");
  EXPECT_EQ(describe_point(m, 5, "x", "").value, "at least 6.400 s, 71.0 GiB");
  const Hover over = describe_point(m, 9, "x", "does not fit: 21 GiB over");
  EXPECT_EQ(over.value, "at least 5.000 s, at least 101 GiB");
  EXPECT_EQ(over.lines.front(), "21.0 GiB over");
  EXPECT_EQ(over.lines.back(), "does not fit: 21 GiB over");
  EXPECT_TRUE(describe_point(m, 99, "x", "").title.empty());
  EXPECT_EQ(pareto_words(m),
            "3 plans on the front, best 4.000 s at 79.0 GiB; 7 of 10 legal plans fit");
}

TEST(ParetoView, EveryPlanIsADotWhereItsFiguresAre) {
  const ParetoModel m = small();
  const Drawing drawing = draw(m);
  const ParetoPlot plot = pareto_plot(m, whole(kParetoSize), {});
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    const Point at = place(m, i);
    if (!contains(plot.rect, at)) continue;
    EXPECT_EQ(hit(drawing, at), (Item{ItemKind::Dot, i})) << i;
  }
  EXPECT_EQ(tags(drawing, ItemKind::Dot).size(), m.points.size());
  EXPECT_TRUE(tags(drawing, ItemKind::Cell).empty());
  EXPECT_TRUE(says(drawing, "3 legal plans do not fit"));
  EXPECT_TRUE(says(drawing, "capacity 80.0 GiB"));
  EXPECT_TRUE(says(drawing, "1 best"));
  EXPECT_LT(place(m, 0).x, place(m, 7).x) << "what does not fit lies behind the line";
  EXPECT_GT(place(m, 7).x, plot.at(m.capacity, 4).x);
}

// A filled disc or polygon is a plan that fits, an outline one that does not. A lower bound is an
// open corner of three points, since the plan lies beyond it.
TEST(ParetoView, WhatDoesNotFitIsHollowAndALowerBoundIsAPalerCorner) {
  const ParetoModel m = small();
  for (const Mark& mark : testing::non_empty(plain_marks(draw(m)))) {
    if (mark.style.item.kind != ItemKind::Dot || mark.style.alpha == 0) continue;
    const ParetoPoint& p = m.points[mark.style.item.tag];
    const bool hollow = mark.kind == MarkKind::Ring || mark.kind == MarkKind::Line;
    EXPECT_EQ(hollow, p.fate == ParetoFate::TooLarge || p.bound) << mark.style.item.tag;
    EXPECT_EQ(mark.kind == MarkKind::Line && mark.count == 3, p.bound) << mark.style.item.tag;
    if (p.fate == ParetoFate::Dominated || p.fate == ParetoFate::TooLarge) {
      EXPECT_EQ(mark.style.alpha < 0.5f, p.bound) << mark.style.item.tag;
    }
  }
}

TEST(ParetoView, ABrushHoldsWhatLiesInIt) {
  const ParetoModel m = small();
  ParetoState state;
  const ParetoPlot plot = pareto_plot(m, whole(kParetoSize), state);
  const Point a = plot.at(50 * kGib, 4.6), b = plot.at(80 * kGib, 3.95);
  state.brush = brush_between(plot, b, a);  // from whichever corner
  EXPECT_EQ(state.brush, brush_between(plot, a, b));
  std::set<std::size_t> found;
  for (std::size_t i = 0; i < m.points.size(); ++i)
    if (in_brush(m, m.points[i], state)) found.insert(i);
  EXPECT_EQ(found, (std::set<std::size_t>{0, 1, 3}));
  for (const Mark& mark : testing::non_empty(plain_marks(draw(m, state)))) {
    if (mark.style.item.kind != ItemKind::Dot || mark.style.alpha == 0) continue;
    const float own = m.points[mark.style.item.tag].bound ? 0.2f : 0.5f;
    EXPECT_EQ(mark.style.alpha > own, found.count(mark.style.item.tag) == 1) << mark.style.item.tag;
  }
  // A brush that reaches beyond the plot is clipped to it.
  const ParetoBrush all = brush_between(plot, {-500, -500}, {5000, 5000});
  EXPECT_NEAR(all.x_low, plot.x.low, 1e-3 * plot.x.low);
  EXPECT_NEAR(all.y_high, plot.y.high, 1e-3 * plot.y.high);
}

TEST(ParetoView, ThousandsBecomeADensityThatLosesNoPlanOfTheFront) {
  for (const std::uint32_t seed : {1u, 2u}) {
    const ParetoModel m = random(6'000, seed);
    const Drawing drawing = draw(m);
    const std::set<std::uint64_t> dots = tags(drawing, ItemKind::Dot);
    EXPECT_EQ(dots, std::set<std::uint64_t>(m.front.begin(), m.front.end()));
    std::size_t counted = 0, shown = 0;
    const ParetoPlot plot = pareto_plot(m, whole(kParetoSize), {});
    for (const std::uint64_t cell : tags(drawing, ItemKind::Cell))
      counted += points_of_cell(m, whole(kParetoSize), {}, {ItemKind::Cell, cell}).size();
    for (std::size_t i = 0; i < m.points.size(); ++i)
      if (dots.count(i) == 0 && contains(plot.rect, place(m, i))) ++shown;
    EXPECT_EQ(counted, shown) << "every plan within the axes is in one cell";
    EXPECT_LT(drawing.marks.size(), 12'000u);
  }
}

TEST(ParetoView, ACellStandsForItsQuickest) {
  const ParetoModel m = random(20'000, 4);
  const Drawing drawing = draw(m);
  const std::uint64_t cell = *tags(drawing, ItemKind::Cell).begin();
  const auto all = points_of_cell(m, whole(kParetoSize), {}, {ItemKind::Cell, cell});
  const auto chosen = point_of(m, whole(kParetoSize), {}, {ItemKind::Cell, cell});
  ASSERT_TRUE(chosen);
  for (const std::size_t i : testing::non_empty(all))
    EXPECT_LE(m.points[*chosen].step, m.points[i].step);
  EXPECT_EQ(point_of(m, whole(kParetoSize), {}, {ItemKind::Capacity, 0}), std::nullopt);
}

RC_GTEST_PROP(ParetoModel, TheStairFallsAndNothingOfTheFrontLiesBelowIt, ()) {
  const ParetoModel m =
      random(*rc::gen::inRange<std::size_t>(1, 200), *rc::gen::arbitrary<std::uint32_t>());
  for (const ParetoAxis x : {ParetoAxis::Memory, ParetoAxis::Step, ParetoAxis::Money})
    for (const ParetoAxis y : {ParetoAxis::Memory, ParetoAxis::Step, ParetoAxis::Money}) {
      const std::vector<std::size_t> s = stair(m, x, y);
      const auto at = [&](std::size_t i, ParetoAxis axis) {
        return value_of(m, m.points[i], axis);
      };
      for (std::size_t i = 1; i < s.size(); ++i) {
        RC_ASSERT(at(s[i - 1], x) <= at(s[i], x));
        RC_ASSERT(at(s[i - 1], y) > at(s[i], y));
      }
      for (const std::size_t f : m.front)
        RC_ASSERT(std::any_of(s.begin(), s.end(), [&](std::size_t i) {
          return at(i, x) <= at(f, x) && at(i, y) <= at(f, y);
        }));
    }
  for (std::size_t i = 1; i < m.front.size(); ++i)
    RC_ASSERT(m.points[m.front[i - 1]].step <= m.points[m.front[i]].step);
}

RC_GTEST_PROP(ParetoView, PixelsAndValuesAreInverses, ()) {
  const ParetoModel m = random(50, *rc::gen::arbitrary<std::uint32_t>());
  const ParetoPlot plot = pareto_plot(m, whole(kParetoSize), {});
  for (const std::size_t i : m.front) {
    const Point at = place(m, i);
    RC_ASSERT(contains(plot.rect, at));
    RC_ASSERT(std::abs(plot.x_value(at.x) - m.points[i].memory) < 2e-3 * m.points[i].memory);
    RC_ASSERT(std::abs(plot.y_value(at.y) - m.points[i].step) < 2e-3 * m.points[i].step);
  }
}

TEST(ParetoView, TheSameBytesTwiceAtAnySizeOnAnyAxes) {
  const ParetoModel m = small();
  for (const Size size : {kParetoSize, Size{0, 0}, Size{150, 90}, Size{2400, 1600}})
    for (int x = 0; x < kParetoAxes; ++x)
      for (int y = 0; y < kParetoAxes; ++y) {
        ParetoState state;
        state.x = static_cast<ParetoAxis>(x), state.y = static_cast<ParetoAxis>(y);
        state.selected = 4;
        const Drawing drawing = draw(m, state, size);
        EXPECT_EQ(to_svg(drawing, Theme::Dark), to_svg(draw(m, state, size), Theme::Dark));
        for (const Mark& mark : testing::non_empty(plain_marks(drawing)))
          ASSERT_TRUE(
              std::isfinite(mark.rect.x + mark.rect.y + mark.rect.width + mark.rect.height));
      }
}

TEST(ParetoView, WithoutPlansOrWithoutOneThatFits) {
  EXPECT_TRUE(says(draw(ParetoModel{}), "No plan has been priced yet"));
  EXPECT_EQ(pareto_words({}), "No plan has been priced yet");
  ParetoModel m = small();
  m.capacity = 10 * kGib;
  testing_pareto::judge(m);
  EXPECT_TRUE(m.front.empty());
  const Drawing drawing = draw(m);
  EXPECT_EQ(tags(drawing, ItemKind::Dot).size(), m.points.size());
  EXPECT_TRUE(says(drawing, "10 legal plans do not fit"));
  EXPECT_EQ(pareto_words(m), "0 of 10 legal plans fit");
}

TEST(ParetoView, GoldenPictures) {
  ParetoModel m = small();
  m.letters = {{"A", 4}};
  ParetoState state;
  state.selected = 1;
  testing_golden::expect_golden(draw(m, state), "pareto");
}

}  // namespace
}  // namespace trainyard
