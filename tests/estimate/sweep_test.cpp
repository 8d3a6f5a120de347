#include "core/estimate/sweep.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/result/figures.h"
#include "tests/support/made_sweeps.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

std::vector<SweepAxis> drawn_axes() {
  std::vector<SweepAxis> axes;
  for (int a = *rc::gen::inRange(1, 5); a > 0; --a) {
    SweepAxis axis{"axis" + std::to_string(a), {}};
    for (int v = *rc::gen::inRange(1, 5); v > 0; --v) axis.values.push_back(std::to_string(v));
    axes.push_back(axis);
  }
  return axes;
}

// The first combination has the first value of each axis, and the next is that of an odometer.
RC_GTEST_PROP(Sweep, TheLastAxisVariesFastest, ()) {
  SweepStudy study;
  study.axes = drawn_axes();
  std::vector<std::size_t> digits(study.axes.size());
  for (std::size_t i = 0; i < combinations(study.axes); ++i) {
    for (std::size_t a = 0; a < digits.size(); ++a) RC_ASSERT(study.digit(i, a) == digits[a]);
    for (std::size_t a = digits.size(); a-- > 0;) {
      if (++digits[a] < study.axes[a].values.size()) break;
      digits[a] = 0;
    }
  }
  RC_ASSERT(std::all_of(digits.begin(), digits.end(), [](std::size_t d) { return d == 0; }));
}

TEST(Sweep, CombinationsBeyondTheMostAreNotCounted) {
  const SweepAxis hundred{"a", std::vector<std::string>(100, "x")};
  EXPECT_EQ(combinations({hundred, hundred}), kMostCombinations);
  EXPECT_EQ(combinations({hundred, hundred, {"b", {"1", "2"}}}), kMostCombinations + 1);
  // The product would not fit into 64 bits.
  EXPECT_EQ(combinations(std::vector<SweepAxis>(12, hundred)), kMostCombinations + 1);
}

TEST(Sweep, FiguresAreThoseOfTheResult) {
  const SweepRow row = testing::made_row(2, 40);
  const Result& r = *row.result;
  EXPECT_EQ(figure_of(row, SweepFigure::Step)->value, to_seconds(r.step.value));
  EXPECT_EQ(figure_of(row, SweepFigure::Throughput)->value, rate(r).value);
  EXPECT_EQ(figure_of(row, SweepFigure::Mfu)->high, utilisation(r).high);
  EXPECT_EQ(figure_of(row, SweepFigure::Peak)->value, 40 * 0x1p30);
  EXPECT_EQ(figure_of(row, SweepFigure::Cost)->value, r.money->value * 1e9 / r.tokens_per_step);
  for (const SweepFigure figure : kSweepFigures) EXPECT_FALSE(figure_of(SweepRow{}, figure));
}

TEST(Sweep, TheBestRowIsOneOfThoseThatFit) {
  SweepStudy study = testing::made_maps();
  EXPECT_EQ(best_row(study, SweepFigure::Step), 0u);
  EXPECT_EQ(best_row(study, SweepFigure::Throughput), 0u);
  for (const SweepFigure figure : kSweepFigures) {
    const SweepRow& best = study.rows[*best_row(study, figure)];
    for (const SweepRow& row : testing::non_empty(study.rows)) {
      if (!row.fits()) continue;
      const double mine = figure_of(best, figure)->value, other = figure_of(row, figure)->value;
      EXPECT_TRUE(higher_is_better(figure) ? mine >= other : mine <= other);
    }
  }
  study.rows[0] = testing::made_row(1e-3, 200);
  EXPECT_EQ(best_row(study, SweepFigure::Step), 1u);
  study.rows.clear();
  EXPECT_FALSE(best_row(study, SweepFigure::Step));
}

TEST(Sweep, WordsNameWhatVaries) {
  const SweepStudy study = testing::made_sweep(
      {{"model", {"gpt2", "llama-3-8b"}}, {"cluster", {"h100-sxm:8"}}, {"seq", {"1024", "2048"}}});
  EXPECT_EQ(combination_words(study, 1), "gpt2, seq 2048");
  EXPECT_EQ(combination_words(testing::made_sweep({{"model", {"gpt2"}}}), 0), "");
  EXPECT_EQ(verdict_word(SweepRow{}), "no plan");
  EXPECT_EQ(verdict_word(testing::made_row(1, 78)), "may not fit");
  EXPECT_TRUE(testing::made_row(1, 78).fits());
  EXPECT_EQ(verdict_word(testing::made_row(1, 82)), "may not fit");
  EXPECT_FALSE(testing::made_row(1, 82).fits());
}

}  // namespace
}  // namespace trainyard
