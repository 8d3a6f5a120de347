#include "visualizers/compare/outperforming_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tests/visualizers/golden.h"

namespace trainyard {
namespace {

JudgedFigure judged_accuracy() {
  JudgedFigure figure{"accuracy", "Accuracy", "share", {{}, {}, false, true}, {}};
  for (int i = 0; i < 12; ++i) {
    figure.scores.a.push_back(0.90 + 0.001 * (i * 7 % 12));
    figure.scores.b.push_back(0.905 + 0.001 * (i * 5 % 12));
  }
  figure.verdict = outperforming(figure.scores);
  return figure;
}

std::vector<JudgedFigure> both_figures() {
  JudgedFigure step{"step", "Step time", "s", {{0.041}, {0.038}, true, true}, {}};
  step.verdict = outperforming(step.scores);
  return {judged_accuracy(), step};
}

Drawing drawn_figures(const std::vector<JudgedFigure>& figures, float width = 900) {
  Drawing drawing({width, outperforming_height(figures)});
  draw_outperforming(drawing, whole(drawing.size), figures);
  return drawing;
}

TEST(OutperformingView, EveryRunIsADotAtItsValueAndPairsAreJoined) {
  const std::vector<JudgedFigure> figures = both_figures();
  const Drawing drawing = drawn_figures(figures);
  std::vector<Mark> dots;
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item.kind == ItemKind::Dot) dots.push_back(mark);
  EXPECT_EQ(dots.size(), 2u * 12 + 2);
  // A higher value lies further to the right.
  float lowest = std::numeric_limits<float>::max(), highest = 0;
  for (const Mark& dot : dots) {
    if (dot.style.item.tag >> 32 != 0 || dot.style.item.tag % 2 != 0) continue;
    const double value = figures[0].scores.a[dot.style.item.tag / 2];
    if (value == 0.90) lowest = dot.rect.x;
    if (value > 0.9105) highest = dot.rect.x;
  }
  EXPECT_LT(lowest, highest);
}

TEST(OutperformingView, HoversSayTheRunAndItsPair) {
  const std::vector<JudgedFigure> figures = both_figures();
  const Hover run = describe_outperforming(figures, {ItemKind::Dot, 2 * 3 + 1});
  EXPECT_EQ(run.title, "Run 4 of B");
  EXPECT_EQ(run.lines.back(), "its pair: " + judged_text(figures[0], figures[0].scores.a[3]));
  EXPECT_EQ(describe_outperforming(figures, {ItemKind::Other, 1}).lines.back(),
            "too few runs, 28 more runs of each");
  EXPECT_EQ(describe_outperforming(figures, {ItemKind::Other, 2}).title, "");
  EXPECT_EQ(describe_outperforming(figures, {ItemKind::Dot, 2 * 40}).title, "");
  EXPECT_EQ(describe_outperforming(figures, {ItemKind::Dot, std::uint64_t{9} << 32}).title, "");
}

TEST(OutperformingView, WordsAndRowsHaveEveryFigure) {
  const std::vector<JudgedFigure> figures = both_figures();
  const std::string words = spell_outperforming(figures);
  EXPECT_NE(words.find("Accuracy: "), std::string::npos);
  EXPECT_NE(words.find("Step time: Too few runs"), std::string::npos);
  EXPECT_EQ(outperforming_table(figures).rows, 26u);
  EXPECT_EQ(outperforming_height({}), 0);
}

TEST(OutperformingView, LooksAsApproved) {
  testing_golden::expect_golden(drawn_figures(both_figures()), "outperforming");
}

}  // namespace
}  // namespace trainyard
