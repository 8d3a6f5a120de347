// Tests the view of measured against predicted values, point by point.
#include "visualizers/roofline/residuals_view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

ResidualsModel model() {
  ResidualsModel m;
  m.title = "Kernels of a machine", m.what = "kernels", m.by = "predicted before";
  m.points = {{"matmul", "8 x 8 x 8", 10us, 10us, 10us, 4},
              {"matmul", "64 x 64 x 64", 1ms, 1ms, std::nullopt, 1},
              {"softmax", "", 100us, 50us, 200us, 2}};
  m.predicted = residual_shares({0, 0, 0.5});
  m.held_out = residual_shares({0, 1});
  m.band = 0.1;
  return m;
}

std::vector<Mark> marks_of(const Drawing& drawing, MarkKind kind, std::uint64_t point) {
  std::vector<Mark> found;
  for (const Mark& mark : plain_marks(drawing))
    if (mark.kind == kind && mark.style.item == Item{ItemKind::Dot, point}) found.push_back(mark);
  return found;
}

Point middle(const Mark& mark) {
  return {mark.rect.x + mark.rect.width / 2, mark.rect.y + mark.rect.height / 2};
}

TEST(ResidualsView, TheDiagonalIsWhereBothAgree) {
  const Drawing drawing = residuals_picture(model());
  const Point low = middle(marks_of(drawing, MarkKind::Ring, 0).at(0));
  const Point high = middle(marks_of(drawing, MarkKind::Ring, 1).at(0));
  const Point ring = middle(marks_of(drawing, MarkKind::Ring, 2).at(0));
  const Point disc = middle(marks_of(drawing, MarkKind::Disc, 2).at(0));
  // The third is half way between 10 us and 1 ms; half of it lies below the diagonal, twice above.
  EXPECT_NEAR(ring.x, (low.x + high.x) / 2, 0.01);
  EXPECT_FLOAT_EQ(ring.x, disc.x);
  const float diagonal = (low.y + high.y) / 2;
  EXPECT_NEAR(ring.y - diagonal, diagonal - disc.y, 0.01);
  EXPECT_NEAR((ring.y - diagonal) / (low.y - high.y), std::log(2.0) / std::log(100.0), 1e-3);
  EXPECT_TRUE(marks_of(drawing, MarkKind::Disc, 1).empty()) << "nothing was held out";
}

// A learned price has a third mark, two columns, and its part of the sentence; there is none of it
// where there is too little to learn from.
TEST(ResidualsView, LearnedPricesStandBesideTheOthers) {
  ResidualsModel m = model();
  EXPECT_EQ(residuals_table(m).columns.size(), 8u);
  EXPECT_EQ(residuals_words(m).find("learned"), std::string::npos);
  m.points[2].learned = 110us;
  m.learned = residual_shares({0.1});
  EXPECT_EQ(marks_of(residuals_picture(m), MarkKind::Disc, 2).size(), 2u);
  EXPECT_NE(residuals_words(m).find("learned 10.0 % and 10.0 %"), std::string::npos);
  const DataTable table = residuals_table(m);
  ASSERT_EQ(table.columns.size(), 10u);
  EXPECT_EQ(table.columns[8].name, "learned");
  EXPECT_EQ(describe_residuals(m, {ItemKind::Dot, 2}).lines.at(2),
            "learned from other sizes 110 µs, +10.0 %");
}

TEST(ResidualsView, EveryPointCanBePointedAt) {
  const ResidualsModel m = model();
  const Drawing drawing = residuals_picture(m);
  const Item item = hit(drawing, middle(marks_of(drawing, MarkKind::Disc, 2).at(0)));
  EXPECT_EQ(item, (Item{ItemKind::Dot, 2}));
  const Hover hover = describe_residuals(m, item);
  EXPECT_EQ(hover.title, "softmax");
  EXPECT_EQ(hover.lines.at(0), "predicted before 50.0 µs, −50.0 %");
  EXPECT_EQ(hover.lines.at(1), "by the others 200 µs, +100.0 %");
  EXPECT_EQ(describe_residuals(m, {ItemKind::Dot, 3}).title, "");
}

TEST(ResidualsView, SaysTheWholeInWordsAndAsATable) {
  const ResidualsModel m = model();
  EXPECT_EQ(residuals_words(m),
            "3 kernels: predicted before, median error 0.0 %, 90th percentile 0.0 %; "
            "held-out 0.0 % and 0.0 %; 90 % range of a step ± 10.0 %");
  const std::string csv = to_csv(residuals_table(m));
  EXPECT_EQ(csv.substr(0, csv.find('\n') - 1),
            "kernel,shape,measured (s),predicted before (s),ratio to measured,held out (s),held "
            "out to measured,count");
  EXPECT_NE(csv.find("softmax,,0.0001,0.00005,0.5,0.0002,2,2"), std::string::npos) << csv;
}

TEST(ResidualsView, DrawsNothingOfNothing) {
  EXPECT_EQ(residuals_words({}), "nothing was measured");
  EXPECT_FALSE(to_svg(residuals_picture({}), Theme::Dark).empty());
}

TEST(ResidualsModel, OfLinksHoldsEachSizeOut) {
  const NcclTable table = parse_nccl_tests(
      "# Collective test starting: all_reduce_perf\n#  Rank  1 Group 0\n# time algbw busbw\n"
      " 1024 256 float sum -1 10 0.10 0.10 0 10 0.10 0.10 0\n"
      " 65536 16384 float sum -1 16 4.10 4.10 0 16 4.10 4.10 0\n"
      " 1048576 262144 float sum -1 100 10.49 10.49 0 110 9.53 9.53 N/A\n",
      "n.txt");
  const LinkFit fit = fit_links(table);
  const ResidualsModel m = residuals_model(table, fit);
  ASSERT_EQ(m.points.size(), fit.residuals.size());
  EXPECT_EQ(m.held_out.points, m.points.size());
  // Without a size the fit goes nearly through the two that are left.
  EXPECT_NE(*m.points[0].held_out, m.points[0].predicted);
  EXPECT_EQ(*m.points[0].held_out, *m.points[1].held_out) << "both placements of one size";
  EXPECT_GE(m.held_out.worst, m.predicted.worst);
}

TEST(ResidualsModel, OfARecordingListsWhatWasNotMatched) {
  TraceMatch match;
  match.families = {
      {KernelFamily::Product, {"q", "k", "v", "o", "up"}, {"gemm"}, 20ms, 10ms, 40ms, 8},
      {KernelFamily::Attention, {"attention"}, {"flash"}, 10ms, 5ms, {}, 2}};
  match.kernels = {{"odd", "unknown kernel name", 3ms, 4}};
  match.nodes = {{"optimizer", "the recording has no kernels of optimizer", 1ms, 1}};
  const ResidualsModel m = residuals_model(match, "Kernels of t.json");
  ASSERT_EQ(m.points.size(), 2u);
  EXPECT_EQ(m.points[0].name, "products");
  EXPECT_EQ(m.points[0].shape, "q, k, v and 2 more");
  EXPECT_DOUBLE_EQ(m.predicted.worst, 0.5);
  EXPECT_EQ(m.held_out.points, 1u);
  EXPECT_DOUBLE_EQ(m.held_out.worst, 1);
  const std::string csv = to_csv(unmatched_table(match));
  EXPECT_NE(csv.find("odd,recording,unknown kernel name,0.003,4"), std::string::npos) << csv;
  EXPECT_NE(csv.find("optimizer,plan,"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
