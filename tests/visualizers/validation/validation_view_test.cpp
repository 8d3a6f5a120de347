#include "visualizers/validation/validation_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tests/support/non_empty.h"
#include "tests/visualizers/golden.h"
#include "tests/visualizers/validation/validated_rows.h"
#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

ValidationModel validation_model() {
  const auto [set, validation] = testing_rows::rows();
  return validation_model(set, validation);
}

Drawing draw(const ValidationModel& m, Size size = {1400, 620}, const ViewState& state = {}) {
  Drawing drawing(size);
  draw_validation(drawing, {0, 0, size.width, size.height}, m, state);
  return drawing;
}

Point middle(const Drawing& drawing, std::uint64_t point) {
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item == Item{ItemKind::Dot, point})
      return {mark.rect.x + mark.rect.width / 2, mark.rect.y + mark.rect.height / 2};
  return {-1, -1};
}

std::size_t source(const ValidationModel& m, const std::string& name) {
  for (std::size_t s = 0; s < m.sources.size(); ++s)
    if (m.sources[s].name == name) return s;
  return m.sources.size();
}

TEST(ValidationModel, GroupsWeighEquallyAndWhatDoesNotCountIsShownOnly) {
  const ValidationModel m = validation_model();
  ASSERT_EQ(m.points.size(), 7u);
  ASSERT_EQ(m.sources.size(), 3u);
  EXPECT_EQ(m.sources.front().name, "beta") << "the least median of time first";
  EXPECT_EQ(m.sources.back().name, "gamma") << "memory only";
  const ErrorSpread& alpha = m.sources[source(m, "alpha")].time;
  EXPECT_EQ(alpha.rows, 3);
  // Half of the weight lies at or below 4 %: both rows of group a.
  EXPECT_NEAR(alpha.median, 0.04, 1e-12);
  EXPECT_NEAR(alpha.p90, 0.30, 1e-12);
  EXPECT_NEAR(alpha.inside, 0.5, 1e-12) << "alpha-3 is outside, a group by itself";
  const ErrorSpread& beta = m.sources[source(m, "beta")].time;
  EXPECT_EQ(beta.rows, 1);
  EXPECT_EQ(beta.shown, 1);
  EXPECT_NEAR(beta.p90, 0.01, 1e-12) << "five times too slow, and suspect";
  EXPECT_EQ(m.time.rows, 4);
  EXPECT_EQ(m.memory.rows, 2);
  EXPECT_EQ(m.skipped, 1);
}

TEST(ValidationView, WhatIsPredictedRightLiesOnTheDiagonal) {
  const auto [set, validation] = testing_rows::rows();
  ValidationModel m = validation_model(set, validation);
  m.points[0].predicted = m.points[0].measured;
  m.points[3].predicted = m.points[3].measured;
  const Drawing drawing = draw(m);
  const Point a = middle(drawing, 0), b = middle(drawing, 3), c = middle(drawing, 2);
  // The plot is not square: the diagonal's slope is its own.
  ASSERT_GT(a.x, b.x) << "1 s is right of 250 ms";
  const float slope = (a.y - b.y) / (a.x - b.x);
  EXPECT_LT(slope, 0);
  EXPECT_LT(c.y, a.y + slope * (c.x - a.x) - 2) << "predicted too slow: above it";
  const double log_x = std::log(4.0);
  EXPECT_NEAR((c.x - a.x) / (a.x - b.x), std::log(40.0) / log_x, 1e-3);
}

TEST(ValidationView, EveryPointAndSourceCanBePointedAt) {
  const ValidationModel m = validation_model();
  const Drawing drawing = draw(m);
  for (std::uint64_t i = 0; i < m.points.size(); ++i) {
    const Point at = middle(drawing, i);
    ASSERT_GE(at.x, 0) << i;
    EXPECT_EQ(hit(drawing, at), (Item{ItemKind::Dot, i}));
  }
  for (std::uint64_t s = 0; s < m.sources.size(); ++s)
    EXPECT_TRUE(std::any_of(drawing.marks.begin(), drawing.marks.end(), [&](const Mark& mark) {
      return mark.style.item == Item{ItemKind::Legend, s};
    }));
}

TEST(ValidationView, HoversSayWhichRowAndHowFarOff) {
  const ValidationModel m = validation_model();
  const Hover hover = describe_validation(m, {ItemKind::Dot, 1});
  EXPECT_EQ(hover.title, "alpha-2");
  EXPECT_EQ(hover.value, "\u22124.0 %");
  ASSERT_EQ(hover.lines.size(), 3u);
  EXPECT_NE(hover.lines[0].find("llama-3-8b on h100-sxm:8, tp=2 pp=2"), std::string::npos)
      << hover.lines[0];
  EXPECT_EQ(hover.lines[1], "measured 2.00 s, predicted 1.920 s (1.73 to 2.11)");
  EXPECT_EQ(hover.lines[2], "\u22128.0 % with its source left out of the fit");
  EXPECT_EQ(describe_validation(m, {ItemKind::Dot, 4}).lines.back(), "batch misprinted");
  EXPECT_EQ(describe_validation(m, {ItemKind::Dot, 5}).lines[1],
            "measured 30.0 GiB, predicted 28.5 GiB (25.7 to 31.3)");
  EXPECT_EQ(describe_validation(m, {ItemKind::Legend, 0}).title, "beta, in full");
  EXPECT_TRUE(describe_validation(m, {ItemKind::Dot, 99}).title.empty());
}

// The other sources are drawn paler.
TEST(ValidationView, AChosenSourceStandsOut) {
  const ValidationModel m = validation_model();
  ViewState state;
  state.selected = {ItemKind::Legend, source(m, "alpha")};
  const Drawing drawing = draw(m, {1400, 620}, state);
  for (const Mark& mark : testing::non_empty(plain_marks(drawing)))
    if (mark.style.item.kind == ItemKind::Dot) {
      const bool own = m.points[mark.style.item.tag].source == state.selected.tag;
      EXPECT_EQ(mark.style.alpha > 0.5f, own) << mark.style.item.tag;
    }
}

TEST(ValidationView, TheSameBytesTwiceAtAnySize) {
  const ValidationModel m = validation_model();
  for (const Size size : {validation_size(m), Size{0, 0}, Size{200, 90}, Size{2400, 1600}})
    for (const Theme theme : {Theme::Dark, Theme::Light}) {
      const Drawing drawing = draw(m, size);
      EXPECT_EQ(to_svg(drawing, theme), to_svg(draw(m, size), theme));
      for (const Mark& mark : testing::non_empty(plain_marks(drawing)))
        ASSERT_TRUE(std::isfinite(mark.rect.x + mark.rect.y + mark.rect.width + mark.rect.height));
    }
}

TEST(ValidationView, WithoutRowsItSaysSo) {
  const Drawing drawing = draw(ValidationModel{});
  ASSERT_EQ(drawing.labels.size(), 1u);
  EXPECT_NE(drawing.labels[0].text.find("nothing to compare"), std::string::npos);
  EXPECT_EQ(validation_words({}), "");
}

TEST(ValidationView, GoldenPicture) {
  testing_golden::expect_golden(to_svg(draw(validation_model()), Theme::Dark), "validation.svg");
}

}  // namespace
}  // namespace trainyard
