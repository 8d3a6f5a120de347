#include "core/reliability/checkpoint_interval.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/reliability/spare_nodes.h"
#include "core/reliability/training_weeks.h"

namespace trainyard {
namespace {

constexpr double kHourOfSaves = 3600;

double drawn_between(double low, double high) {
  const int step = *rc::gen::inRange(0, 1'000'001);
  return low * std::pow(high / low, step / 1e6);
}

SavedTraining drawn_training() {
  const double mtbf = drawn_between(600, 1e7);
  return {mtbf, mtbf * drawn_between(1e-5, 0.3), mtbf * drawn_between(1e-5, 0.5), 0, false};
}

// The simulated overhead over many failures.
double drawn_overhead(const SavedTraining& training, double interval, double failures) {
  const DrawnWeeks weeks =
      draw_weeks({training, interval, 0, -1, 0, failures * training.mtbf, 7}, false);
  return 1 / weeks.goodput() - 1;
}

// The numbers of the sheet REL-01: mean 28 h, save 0.1 h, restart 0.3 h.
TEST(CheckpointInterval, HasTheFiguresOfTheMethodSheet) {
  const SavedTraining t{28 * kHourOfSaves, 0.1 * kHourOfSaves, 0.3 * kHourOfSaves, 0, false};
  EXPECT_NEAR(young_interval(t) / kHourOfSaves, 2.37, 0.005);
  EXPECT_NEAR(overhead(t, best_interval(t)), 0.1013, 0.0002);
  const double times[] = {0.25, 0.5, 1, 2, 4}, expected[] = {0.196, 0.122, 0.101, 0.127, 0.218};
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(overhead(t, times[i] * young_interval(t)), expected[i], 0.0006) << times[i];
}

// B-REL-01: within 3 % relative at five intervals, and Daly's within 15 % of the best.
TEST(CheckpointInterval, IsWhatDrawnFailuresTakeAtFiveIntervals) {
  for (const double flush : {0.0, 0.2}) {
    const SavedTraining t{28 * kHourOfSaves, 0.1 * kHourOfSaves, 0.3 * kHourOfSaves,
                          flush * kHourOfSaves, false};
    for (const double times : {0.25, 0.5, 1.0, 2.0, 4.0}) {
      const double interval = times * young_interval(t);
      EXPECT_NEAR(drawn_overhead(t, interval, 4e5) / overhead(t, interval), 1, 0.03)
          << times << " " << flush;
    }
    EXPECT_NEAR(daly_interval(t) / best_interval(t), 1, 0.15);
  }
}

TEST(CheckpointInterval, DrawnFailuresAreDearestAwayFromTheBestInterval) {
  const SavedTraining t{3 * kHourOfSaves, 60, 600, 0, false};
  const double best = drawn_overhead(t, best_interval(t), 4e5);
  for (const double times : {0.3, 3.0})
    EXPECT_LT(best, drawn_overhead(t, times * best_interval(t), 4e5)) << times;
}

TEST(CheckpointInterval, PartialRecoveryIsWhatDrawnFailuresTake) {
  const SavedTraining t{3 * kHourOfSaves, 60, 600, 0, true};
  EXPECT_NEAR(drawn_overhead(t, 1200, 4e5) / overhead(t, 1200), 1, 0.03);
}

RC_GTEST_PROP(CheckpointIntervals, TheBestIsAMinimumOfTheExactExpression, ()) {
  SavedTraining t = drawn_training();
  t.flush = t.mtbf * drawn_between(1e-6, 0.1);
  const double best = best_interval(t), least = overhead(t, best);
  RC_ASSERT(best > 0);
  RC_ASSERT(best < t.mtbf);
  const double times = drawn_between(1e-2, 1e2);
  RC_ASSERT(overhead(t, best * times) >= least * (1 - 1e-9));
}

RC_GTEST_PROP(CheckpointIntervals, DalysIsNearTheBestWhileSavesAreShort, ()) {
  SavedTraining t = drawn_training();
  t.save = t.mtbf * drawn_between(1e-6, 0.1);
  RC_ASSERT(std::abs(daly_interval(t) / best_interval(t) - 1) < 0.15);
}

RC_GTEST_PROP(CheckpointIntervals, NothingThatTakesLongerCostsLess, ()) {
  const SavedTraining t = drawn_training();
  const double interval = t.mtbf * drawn_between(1e-3, 2);
  const double now = overhead(t, interval);
  for (const auto member : {&SavedTraining::save, &SavedTraining::restart}) {
    SavedTraining more = t;
    more.*member *= 1.1;
    RC_ASSERT(overhead(more, interval) > now);
  }
  SavedTraining later = t;
  later.flush = interval / 2;
  RC_ASSERT(overhead(later, interval) > now);
  SavedTraining rarer = t;
  rarer.mtbf *= 1.1;
  RC_ASSERT(overhead(rarer, interval) < now);
}

TEST(CheckpointInterval, WithoutFailuresOnlySavesCost) {
  const SavedTraining t{std::numeric_limits<double>::infinity(), 10, 600, 5, false};
  EXPECT_EQ(overhead(t, 100), 0.1);
  EXPECT_TRUE(std::isinf(best_interval(t)));
  const SavedTraining free{std::numeric_limits<double>::infinity(), 0, 600, 5, false};
  EXPECT_TRUE(std::isinf(young_interval(free)));
  EXPECT_TRUE(std::isinf(daly_interval(free)));
  EXPECT_EQ(overhead(t, best_interval(t)), 0);
  EXPECT_EQ(draw_weeks({t, 100, 1, 0, 60, 1e6, 1}, true).failures, 0);
}

// CPR's expectation 0.5 T_save / (T_fail N): 18 shards, 28 h between failures.
TEST(CheckpointInterval, LostSamplesAreThoseOfTheMethodSheet) {
  EXPECT_NEAR(portion_of_lost_samples(4, 28, 18), 0.00397, 0.00001);
  EXPECT_DOUBLE_EQ(interval_of_lost_samples(portion_of_lost_samples(4, 28, 18), 28, 18), 4);
}

// B(1) = a / (1 + a), and B(2) = a^2 / (2 + 2a + a^2).
TEST(SpareNodes, AreErlangsFormula) {
  EXPECT_DOUBLE_EQ(waiting_share(0, 0.5, 1), 0.5 / 1.5);
  EXPECT_DOUBLE_EQ(waiting_share(1, 0.5, 1), 0.25 / (2 + 1 + 0.25));
  EXPECT_EQ(waiting_share(0, 0, 1), 0);
}

RC_GTEST_PROP(SpareNode, NumbersOfThemNeverMakeAJobWaitLonger, ()) {
  const double load = drawn_between(1e-3, 1e3);
  const auto spares = *rc::gen::inRange<std::int64_t>(0, 2000);
  RC_ASSERT(waiting_share(spares + 1, load, 1) <= waiting_share(spares, load, 1));
  RC_ASSERT(waiting_share(spares, load * 1.1, 1) >= waiting_share(spares, load, 1));
  const double share = drawn_between(1e-6, 0.5);
  const std::int64_t enough = spares_for(share, load, 1);
  RC_ASSERT(waiting_share(enough, load, 1) <= share);
  RC_ASSERT(enough == 0 || waiting_share(enough - 1, load, 1) > share);
}

TEST(SpareNodes, DrawnJobsWaitAsErlangSays) {
  const SavedTraining t{3600, 10, 60, 0, false};
  const double repair = 4 * 3600;
  for (const std::int64_t spares : {0, 1, 3, 6}) {
    const DrawnWeeks weeks = draw_weeks({t, 300, 0.7, spares, repair, 4e5 * 3600, 3}, false);
    const double all = weeks.useful + weeks.saving + weeks.lost + weeks.restarting + weeks.waiting;
    EXPECT_NEAR(all, 4e5 * 3600, 1);
    const double expected = waiting_share(spares, 0.7 / 3600, repair);
    EXPECT_NEAR(weeks.waiting / all, expected, 0.03 * expected + 1e-3) << spares;
    EXPECT_NEAR(weeks.goodput(), (1 - expected) / (1 + overhead(t, 300)), 0.005) << spares;
  }
}

RC_GTEST_PROP(TrainingWeek, SpansCoverEachMomentOnceAndAddUp, ()) {
  const SavedTraining t = drawn_training();
  const double all = t.mtbf * 200;
  const auto spares = *rc::gen::inRange<std::int64_t>(-1, 4);
  const TrainingWeeks question{t,   t.mtbf * drawn_between(1e-2, 1),     0.5, spares, t.mtbf,
                               all, *rc::gen::arbitrary<std::uint64_t>()};
  const DrawnWeeks weeks = draw_weeks(question, true);
  double at = 0, sums[4] = {};
  for (const WeekSpan& span : weeks.spans) {
    RC_ASSERT(span.start == at);
    RC_ASSERT(span.end > span.start);
    sums[static_cast<int>(span.kind)] += span.end - span.start;
    at = span.end;
  }
  RC_ASSERT(std::abs(at - all) <= 1e-9 * all);
  RC_ASSERT(std::abs(sums[0] - weeks.useful - weeks.saving) <= 1e-6 * all);
  RC_ASSERT(std::abs(sums[1] - weeks.lost) <= 1e-6 * all);
  RC_ASSERT(std::abs(sums[2] - weeks.restarting) <= 1e-6 * all);
  RC_ASSERT(std::abs(sums[3] - weeks.waiting) <= 1e-6 * all);
  RC_ASSERT(weeks.useful >= -1e-6 * all);
  RC_ASSERT(spares >= 0 || weeks.waiting == 0);
  RC_ASSERT(draw_weeks(question, false).useful == weeks.useful);
}

}  // namespace
}  // namespace trainyard
