#include "core/cost/staircase.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "tests/support/made_probe.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::made_probe;
using testing::stairs_of;

std::vector<std::pair<std::int64_t, std::int64_t>> ranges(const WidthProbe& probe,
                                                          const std::vector<WidthRatio>& list) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const WidthRatio& r : list)
    all.emplace_back(probe.widths[r.from].width, probe.widths[r.to].width);
  return all;
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

// At most one of 11 samples is below the median with a chance of 12 / 2,048, at most two with 67 /
// 2,048.
TEST(MedianInterval, IsThatOfTheBinomialLaw) {
  std::vector<double> samples(11);
  std::iota(samples.begin(), samples.end(), 1.0);
  const auto interval = [&](double confidence) {
    const Banded<double> found = median_interval(samples, confidence);
    EXPECT_EQ(found.value, 6);
    return std::pair(found.low, found.high);
  };
  EXPECT_EQ(interval(1 - 2.0 / 2048), std::pair(1.0, 11.0));
  EXPECT_EQ(interval(1 - 2 * 12.0 / 2048), std::pair(2.0, 10.0));
  EXPECT_EQ(interval(1 - 2 * 11.9 / 2048), std::pair(1.0, 11.0));
  EXPECT_EQ(interval(1 - 2 * (1 + 11 + 55) / 2048.0), std::pair(3.0, 9.0));
  EXPECT_THROW(median_interval(samples, 1 - 1.9 / 2048), std::invalid_argument);
  EXPECT_THROW(median_interval({}, 0.5), std::invalid_argument);
}

// One interval of 95 % takes six samples, as 2 / 64 is the first chance below 5 %; of 97 widths
// each has a 96th of it.
TEST(LeastRounds, AreWhatAllNeighboursTogetherTake) {
  EXPECT_EQ(least_rounds(2), 6);
  EXPECT_EQ(least_rounds(97), static_cast<int>(std::ceil(1 + std::log2(96 / 0.05))));
}

TEST(Staircase, FindsEveryStepOfMadeUpStairsAndNoOther) {
  const WidthProbe probe = made_probe(
      {.first = 120, .last = 170, .seconds = [](std::int64_t n) { return stairs_of(n, 16); }});
  Ranges up;
  for (const std::size_t s : probe.stairs.steps) {
    const StairStep& step = probe.stairs.jumps[s];
    EXPECT_TRUE(step.up);
    up.emplace_back(probe.widths[step.jump.from].width, probe.widths[step.jump.to].width);
  }
  EXPECT_EQ(up, (Ranges{{128, 129}, {144, 145}, {160, 161}}));
  EXPECT_EQ(common_tread(probe.widths, probe.stairs), 16);
  EXPECT_EQ(ranges(probe, probe.stairs.free),
            (Ranges{{120, 128}, {129, 144}, {145, 160}, {161, 170}}));
  EXPECT_EQ(ranges(probe, probe.stairs.dear), up);
  EXPECT_DOUBLE_EQ(probe.stairs.dear.front().ratio.value, 144.0 / 128);
}

TEST(Staircase, OfAnEvenSlopeHasNoSteps) {
  const WidthProbe probe = made_probe(
      {.seconds = [](std::int64_t n) { return 2e-6 * static_cast<double>(n); }, .noise = 0.003});
  EXPECT_TRUE(probe.stairs.steps.empty());
  EXPECT_TRUE(probe.stairs.dear.empty());
  // The neighbour is 0.7 to 0.8 % wider, which two percent of tolerance allow once and not twice.
  for (const auto& [from, to] : testing::non_empty(ranges(probe, probe.stairs.free)))
    EXPECT_LE(to - from, 2);
  EXPECT_EQ(common_tread(probe.widths, probe.stairs), 1);
}

TEST(Staircase, NoiseThatCoversAJumpHidesIt) {
  const auto steps = [](double noise) {
    return made_probe(
               {.seconds = [](std::int64_t n) { return n > 128 ? 1.05 : 1.0; }, .noise = noise})
        .stairs.steps.size();
  };
  EXPECT_EQ(steps(0), 1u);
  EXPECT_EQ(steps(0.2), 0u);
}

TEST(Staircase, AWidthThatIsDearerThanAWiderOneIsDear) {
  const WidthProbe probe = made_probe(
      {.first = 126, .last = 130, .seconds = [](std::int64_t n) { return n == 128 ? 1.2 : 1.0; }});
  ASSERT_EQ(probe.stairs.steps.size(), 2u);
  EXPECT_TRUE(probe.stairs.jumps[probe.stairs.steps[0]].up);
  EXPECT_FALSE(probe.stairs.jumps[probe.stairs.steps[1]].up);
  EXPECT_EQ(ranges(probe, probe.stairs.dear), (Ranges{{127, 128}, {129, 128}}));
  EXPECT_DOUBLE_EQ(probe.stairs.dear.back().ratio.value, 1.2);
  EXPECT_EQ(ranges(probe, probe.stairs.free), (Ranges{{126, 130}}));
}

TEST(Staircase, RefusesWhatItsIntervalsCannotBeMadeOf) {
  std::vector<ProbedWidth> widths(2);
  widths[0] = {.width = 1, .seconds = std::vector<double>(6, 1.0), .roofline = 1};
  widths[1] = {.width = 2, .seconds = std::vector<double>(6, 1.0), .roofline = 1};
  EXPECT_NO_THROW(staircase(widths));
  EXPECT_THROW(staircase({}), std::invalid_argument);
  widths[1].width = 1;
  EXPECT_THROW(staircase(widths), std::invalid_argument);
  widths[1].width = 2;
  widths[1].seconds.push_back(1);
  EXPECT_THROW(staircase(widths), std::invalid_argument);
  for (ProbedWidth& w : widths) w.seconds.resize(5);
  EXPECT_THROW(staircase(widths), std::invalid_argument);
}

std::vector<double> drawn_times(std::size_t count) {
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i)
    times.push_back(static_cast<double>(*rc::gen::inRange(1000, 1400)));
  return times;
}

std::vector<ProbedWidth> drawn_widths() {
  const int count = *rc::gen::inRange(2, 12);
  const auto rounds = static_cast<std::size_t>(least_rounds(static_cast<std::size_t>(count)) +
                                               *rc::gen::inRange(0, 10));
  std::vector<ProbedWidth> widths;
  for (int w = 0; w < count; ++w)
    widths.push_back({.width = 16 + w, .seconds = drawn_times(rounds), .roofline = 1.0 + w});
  return widths;
}

// A machine that is slower in some rounds than in others is slower for all widths alike.
RC_GTEST_PROP(Staircase, ADriftFromRoundToRoundIsNoStep, ()) {
  const std::vector<ProbedWidth> widths = drawn_widths();
  std::vector<ProbedWidth> drifted = widths;
  for (std::size_t r = 0; r < widths.front().seconds.size(); ++r) {
    const double factor = std::exp2(*rc::gen::inRange(-8, 8));  // exact in floating point
    for (ProbedWidth& w : drifted) w.seconds[r] *= factor;
  }
  const Staircase a = staircase(widths), b = staircase(drifted);
  RC_ASSERT(a.steps == b.steps);
  for (const auto list : {&Staircase::free, &Staircase::dear}) {
    RC_ASSERT((a.*list).size() == (b.*list).size());
    for (std::size_t i = 0; i < (a.*list).size(); ++i) {
      RC_ASSERT((a.*list)[i].from == (b.*list)[i].from);
      RC_ASSERT((a.*list)[i].to == (b.*list)[i].to);
      RC_ASSERT((a.*list)[i].ratio.value == (b.*list)[i].ratio.value);
    }
  }
}

// No free padding lies inside another one, each costs at most what it says, and a step lies outside
// of what its rule calls none.
RC_GTEST_PROP(Staircase, SaysOfWidthsOnlyWhatItsRuleSays, ()) {
  const std::vector<ProbedWidth> widths = drawn_widths();
  const StaircaseRule rule;
  const Staircase stairs = staircase(widths, rule);
  for (const Banded<double>& time : stairs.seconds)
    RC_ASSERT(time.low <= time.value && time.value <= time.high);
  for (std::size_t i = 0; i < stairs.free.size(); ++i) {
    RC_ASSERT(stairs.free[i].ratio.high <= 1 + rule.least);
    if (i > 0) {
      RC_ASSERT(stairs.free[i - 1].from < stairs.free[i].from);
      RC_ASSERT(stairs.free[i - 1].to < stairs.free[i].to);
    }
  }
  for (const WidthRatio& dear : stairs.dear) RC_ASSERT(dear.ratio.low > 1);
  for (std::size_t s = 0; s < stairs.jumps.size(); ++s) {
    const StairStep& jump = stairs.jumps[s];
    const bool step = std::count(stairs.steps.begin(), stairs.steps.end(), s) > 0;
    if (jump.jump.ratio.low <= 1 && jump.jump.ratio.high >= 1) RC_ASSERT(!step);
  }
}

}  // namespace
}  // namespace trainyard
