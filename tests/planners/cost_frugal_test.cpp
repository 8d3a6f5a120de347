#include "planners/tuning/cost_frugal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/base/error.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using Kind = Dimension::Kind;

// Computed by hand, with the formulas of the header.
TEST(ArmCost, TraceOfAnArmByHand) {
  ArmCost arm;
  const auto all = [](double best) { return std::optional<double>(best); };
  arm.told({10.0}, 2);  // found 2, before it 0; 20 -> 10 in 2
  EXPECT_DOUBLE_EQ(arm.own_improvement(), 2);
  EXPECT_DOUBLE_EQ(arm.improvement(all(10)), 2);
  EXPECT_DOUBLE_EQ(arm.improvement(all(5)), 2.0 * 5 / (10.0 / 2));  // 2
  EXPECT_DOUBLE_EQ(arm.improvement(all(2)), 2.0 * 8 / (10.0 / 2));  // 3.2
  arm.told({12.0}, 3);                                              // in vain: 3 since
  EXPECT_DOUBLE_EQ(arm.spent(), 5);
  EXPECT_DOUBLE_EQ(arm.own_improvement(), 3);
  arm.told({8.0}, 1);  // found 6, before it 2; 10 -> 8 in 4
  EXPECT_DOUBLE_EQ(arm.own_improvement(), 4);
  EXPECT_DOUBLE_EQ(arm.improvement(all(7)), 2.0 * 1 / (2.0 / 4));  // 4
  EXPECT_DOUBLE_EQ(arm.improvement(all(5)), 2.0 * 3 / (2.0 / 4));  // 12
  arm.told({std::nullopt, 1}, 10);  // does not fit: 10 since, and the pace falls to 2 in 14
  EXPECT_DOUBLE_EQ(arm.own_improvement(), 10);
  EXPECT_DOUBLE_EQ(arm.improvement(all(5)), 2.0 * 3 / (2.0 / 14));  // 42
  EXPECT_DOUBLE_EQ(arm.improvement(all(8)), 10);
  EXPECT_DOUBLE_EQ(arm.improvement(std::nullopt), 10);
  EXPECT_EQ(arm.evaluations(), 4);
  EXPECT_EQ(arm.best(), std::optional<double>(8));
}

TEST(ArmCost, AnArmWithoutALossCostsWhatItHasSpent) {
  ArmCost arm;
  arm.told({std::nullopt, 1}, 2);
  arm.told({std::nullopt, 1}, 3);
  EXPECT_DOUBLE_EQ(arm.improvement(1.0), 5);
}

Dimension whole_dimension(const char* name, double low, double high) {
  return {name, low, high, Kind::Integer, false, low};
}

// Three families, the middle one with the lowest floor; what is large is dear, and what is larger
// still does not fit.
std::vector<Arm> families() {
  return {{"a", {whole_dimension("n", 0, 30), whole_dimension("m", 0, 30)}},
          {"b", {whole_dimension("n", 0, 30), whole_dimension("m", 0, 30)}},
          {"c", {whole_dimension("n", 0, 30), whole_dimension("m", 0, 30)}}};
}
Evaluation evaluate(std::size_t arm, const SearchPoint& p) {
  const double cost = 1 + p[0] + p[1];
  if (p[0] + p[1] > 45) return {{std::nullopt, p[0] + p[1] - 45}, cost, "does not fit"};
  const double floor = arm == 1 ? 5 : 10, n = p[0] - 12, m = p[1] - 20;
  return {{floor + (n * n + m * m) / 20}, cost, ""};
}

TEST(CostFrugal, EvaluatesNoPointTwiceAndFindsTheBestOfAll) {
  std::set<std::pair<std::size_t, SearchPoint>> seen;
  const FrugalSearch found = search(families(),
                                    [&](std::size_t arm, const SearchPoint& p) {
                                      EXPECT_TRUE(seen.insert({arm, p}).second);
                                      return evaluate(arm, p);
                                    },
                                    {.most_evaluations = 5000});
  EXPECT_TRUE(found.exhausted);
  EXPECT_EQ(found.trials.size(), 3u * 31 * 31);
  ASSERT_TRUE(found.best);
  EXPECT_EQ(found.trials[*found.best].arm, 1u);
  EXPECT_EQ(found.trials[*found.best].point, (SearchPoint{12, 20}));
}

TEST(CostFrugal, SpendsMostOnTheFamilyThatPays) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const FrugalSearch found = search(families(), evaluate, {.most_cost = 3000, .seed = seed});
    right += found.arms[1].spent() > found.arms[0].spent() &&
             found.arms[1].spent() > found.arms[2].spent();
    // The first points of each arm are its cheap ones.
    EXPECT_EQ(found.trials.front().point, (SearchPoint{0, 0}));
    double spent = 0;
    std::int64_t evaluations = 0;
    for (const ArmCost& arm : found.arms) spent += arm.spent(), evaluations += arm.evaluations();
    EXPECT_DOUBLE_EQ(spent, found.trials.back().spent);
    EXPECT_EQ(evaluations, static_cast<std::int64_t>(found.trials.size()));
    EXPECT_LT(found.trials[found.trials.size() - 2].spent, 3000);
  }
  EXPECT_GE(right, 8);
}

TEST(CostFrugal, TheSameSeedTheSameTrials) {
  const auto points = [](std::uint64_t seed) {
    std::vector<std::pair<std::size_t, SearchPoint>> all;
    for (const Trial& t :
         search(families(), evaluate, {.most_evaluations = 60, .seed = seed}).trials)
      all.emplace_back(t.arm, t.point);
    return all;
  };
  EXPECT_EQ(points(1), points(1));
  EXPECT_NE(points(1), points(2));
}

TEST(CostFrugal, StopsWhereItIsTold) {
  std::stop_source stop;
  const FrugalSearch found =
      search(families(), evaluate, {.stop = stop.get_token(), .progress = [&](const Trial& t) {
                                      if (t.spent > 30) stop.request_stop();
                                    }});
  EXPECT_TRUE(found.stopped);
  EXPECT_GT(found.trials.size(), 3u);
  EXPECT_LT(found.trials.size(), 40u);
}

TEST(CostFrugal, NothingFits) {
  const FrugalSearch found =
      search({{"a", {whole_dimension("n", 0, 3)}}, {"b", {}}}, [](std::size_t, const SearchPoint&) {
        return Evaluation{{std::nullopt, 1}, 0, "too large"};
      });
  EXPECT_FALSE(found.best);
  EXPECT_TRUE(found.exhausted);
  EXPECT_EQ(found.trials.size(), 5u);
  EXPECT_THROW(search({}, evaluate), Error);
}

TEST(CostFrugal, RandomSearchTriesTheSamePlaces) {
  const FrugalSearch found = random_search(families(), evaluate, {.most_evaluations = 300});
  EXPECT_EQ(found.trials.size(), 300u);
  std::set<std::pair<std::size_t, SearchPoint>> seen;
  for (const Trial& t : testing::non_empty(found.trials))
    EXPECT_TRUE(seen.insert({t.arm, t.point}).second);
}

// The points that are expected are those that come, until a point is better than what was known;
// and being told does not change the search.
TEST(CostFrugal, KnowsWhatComesNextIfNothingIsBetter) {
  const FrugalSearch plain = search(families(), evaluate, {.most_evaluations = 300, .seed = 3});
  std::size_t arm = 0, at = 0;
  std::vector<SearchPoint> next;
  std::int64_t evaluated = 0, foreseen = 0;
  FrugalOptions options{.most_evaluations = 300, .seed = 3};
  options.ahead = 8;
  options.expects = [&](std::size_t of, const std::vector<SearchPoint>& points) {
    ASSERT_FALSE(points.empty());
    EXPECT_LE(points.size(), 8u);
    EXPECT_LE(static_cast<std::int64_t>(points.size()), 300 - evaluated);
    EXPECT_EQ(std::set<SearchPoint>(points.begin(), points.end()).size(), points.size());
    if (of == arm && at < next.size()) foreseen += points.front() == next[at];
    arm = of, next = points, at = 0;
  };
  const FrugalSearch told = search(
      families(),
      [&](std::size_t of, const SearchPoint& p) {
        EXPECT_EQ(of, arm);
        EXPECT_EQ(p, next.front());
        ++evaluated, at = 1;
        return evaluate(of, p);
      },
      options);
  ASSERT_EQ(told.trials.size(), plain.trials.size());
  for (std::size_t i = 0; i < plain.trials.size(); ++i) {
    EXPECT_EQ(told.trials[i].arm, plain.trials[i].arm);
    EXPECT_EQ(told.trials[i].point, plain.trials[i].point);
  }
  EXPECT_GT(foreseen, 100);
}

TEST(CostFrugal, ExpectsEverythingWhereNothingIsEverBetter) {
  const std::vector<Arm> one{{"a", {whole_dimension("n", 0, 11)}}};
  std::vector<SearchPoint> first;
  FrugalOptions options;
  options.ahead = 100;
  options.expects = [&](std::size_t, const std::vector<SearchPoint>& points) {
    if (first.empty()) first = points;
  };
  const FrugalSearch found = search(
      one, [](std::size_t, const SearchPoint&) { return Evaluation{{1.0}, 1, ""}; }, options);
  ASSERT_EQ(found.trials.size(), 12u);
  ASSERT_EQ(first.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(found.trials[i].point, first[i]);
}

}  // namespace
}  // namespace trainyard
