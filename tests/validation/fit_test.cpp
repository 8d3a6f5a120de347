#include "core/validation/fit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using P = Parameter;

// A row is a sum of two works at the rates of two parameters, as a step is.
struct Sum {
  double compute, traffic;
  double operator()(const Parameters& p) const {
    return compute / p[P::ProductAmpere] + traffic / p[P::MemoryRate] + 1e-3 * p[P::StepStart];
  }
};

struct Synthetic {
  std::vector<Sum> sums;
  std::vector<FitRow> rows;
  Predict predict() const {
    return [this](std::size_t i, const Parameters& p) { return sums[i](p); };
  }
};

Parameters truth() {
  Parameters p = Parameters::priors();
  p[P::ProductAmpere] = 0.72;
  p[P::MemoryRate] = 0.9;
  p[P::StepStart] = 30;
  return p;
}

Synthetic synthetic(int count, int sources) {
  Synthetic s;
  const Random random(5);
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    s.sums.push_back({0.1 + random.uniform(3 * n), random.uniform(3 * n + 1)});
    s.rows.push_back({s.sums.back()(truth()), 1, i % sources});
  }
  return s;
}

FitOptions three_free() {
  FitOptions options;
  options.free = {P::ProductAmpere, P::MemoryRate, P::StepStart};
  options.noise = 1e-3;
  return options;
}

TEST(Fit, FindsWhatTheRowsWereMadeWith) {
  const Synthetic s = synthetic(40, 4);
  const FitResult found = fit(s.rows, s.predict(), Parameters::priors(), three_free());
  for (const P p : testing::non_empty(three_free().free))
    EXPECT_NEAR(found.parameters[p] / truth()[p], 1, 2e-3);
  for (const double e : testing::non_empty(found.log_errors)) EXPECT_NEAR(e, 0, 1e-3);
  for (const double d : testing::non_empty(found.determined)) EXPECT_LT(d, 0.1);
  EXPECT_LE(found.iterations, 12);
}

TEST(Fit, WhatNoRowReadsStaysAtItsPrior) {
  const Synthetic s = synthetic(40, 4);
  FitOptions options = three_free();
  options.free.push_back(P::ProductTpu);
  Parameters start = Parameters::priors();
  start[P::ProductTpu] = 0.6;
  const FitResult found = fit(s.rows, s.predict(), start, options);
  EXPECT_NEAR(found.parameters[P::ProductTpu], info(P::ProductTpu).prior, 1e-6);
  EXPECT_NEAR(found.moved.back(), 0, 1e-6);
  EXPECT_NEAR(found.determined.back(), 1, 1e-12);
}

TEST(Fit, AnotherPriorHoldsIt) {
  const Synthetic s = synthetic(40, 4);
  FitOptions options = three_free();
  options.free = {P::FourBit};
  options.prior[P::FourBit] = 0.61;
  const FitResult found = fit(s.rows, s.predict(), Parameters(), options);
  EXPECT_NEAR(found.parameters[P::FourBit], 0.61, 1e-6);
}

// One unknown, rows that all say the same: the optimum is known in closed form. With error e0 at
// the prior, slope -spread and weight 1 / noise^2 the coordinate is the ridge solution.
TEST(Fit, PriorAndRowsShareByTheirPrecision) {
  FitOptions options;
  options.free = {P::ProductAmpere};
  options.noise = 0.05;
  const double prior = info(P::ProductAmpere).prior, spread = info(P::ProductAmpere).spread;
  const std::vector<FitRow> rows = {{1 / (prior * 1.04), 1, 0}};
  const Predict predict = [](std::size_t, const Parameters& p) { return 1 / p[P::ProductAmpere]; };
  const FitResult found = fit(rows, predict, Parameters::priors(), options);
  const double slope = spread / options.noise;
  EXPECT_NEAR(found.moved[0], slope * (std::log(1.04) / options.noise) / (1 + slope * slope), 1e-6);
  EXPECT_NEAR(found.determined[0], 1 / std::sqrt(1 + slope * slope), 1e-6);
}

TEST(Fit, GroupsWeighTheSameHoweverManyRowsTheyHave) {
  FitOptions options = three_free();
  options.free = {P::ProductAmpere};
  const Predict predict = [](std::size_t, const Parameters& p) { return 1 / p[P::ProductAmpere]; };
  std::vector<FitRow> rows = {{1 / 0.80, 1, 0}};
  for (int i = 0; i < 9; ++i) rows.push_back({1 / 0.84, 1.0 / 9, 1});
  const FitResult found = fit(rows, predict, Parameters::priors(), options);
  EXPECT_NEAR(found.parameters[P::ProductAmpere], std::sqrt(0.80 * 0.84), 1e-4);
}

TEST(Fit, ARowThatNothingExplainsDoesNotMoveIt) {
  Synthetic s = synthetic(60, 4);
  FitOptions options = three_free();
  options.robust = 0.01;
  s.rows[7].measured *= 3;
  const FitResult found = fit(s.rows, s.predict(), Parameters::priors(), options);
  for (const P p : testing::non_empty(options.free))
    EXPECT_NEAR(found.parameters[p] / truth()[p], 1, 0.01);
  EXPECT_NEAR(found.log_errors[7], -std::log(3), 0.01);
}

TEST(Fit, RowsOfNoWeightAreOnlyScored) {
  Synthetic s = synthetic(40, 4);
  const FitResult without = fit(s.rows, s.predict(), Parameters::priors(), three_free());
  s.sums.push_back({1, 1});
  s.rows.push_back({100, 0, 9});
  const FitResult with = fit(s.rows, s.predict(), Parameters::priors(), three_free());
  EXPECT_EQ(with.parameters, without.parameters);
  EXPECT_DOUBLE_EQ(with.log_errors.back(), std::log(s.sums.back()(with.parameters) / 100));
}

TEST(Fit, NothingLeavesItsBoundsAndNoughtCanBeReached) {
  const Synthetic s = synthetic(40, 4);
  FitOptions options = three_free();
  Synthetic quick = s;
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    Parameters none = truth();
    none[P::StepStart] = 0;
    none[P::ProductAmpere] = 1.3;  // more than is possible
    quick.rows[i].measured = s.sums[i](none);
  }
  const FitResult found = fit(quick.rows, quick.predict(), Parameters::priors(), options);
  EXPECT_DOUBLE_EQ(found.parameters[P::ProductAmpere], info(P::ProductAmpere).high);
  EXPECT_GE(found.parameters[P::StepStart], 0);
  EXPECT_LT(found.parameters[P::StepStart], 0.5);
}

TEST(Fit, ThreadsChangeNoBit) {
  const Synthetic s = synthetic(101, 7);
  FitOptions options = three_free();
  options.noise = 0.05;
  options.threads = 1;
  const CrossResult one = cross_validate(s.rows, s.predict(), Parameters::priors(), options);
  options.threads = 5;
  const CrossResult five = cross_validate(s.rows, s.predict(), Parameters::priors(), options);
  EXPECT_EQ(one.all.parameters, five.all.parameters);
  EXPECT_EQ(one.all.determined, five.all.determined);
  EXPECT_EQ(one.log_errors, five.log_errors);
  EXPECT_EQ(one.without, five.without);
}

TEST(Fit, AnErrorOfAPredictionLeaves) {
  const Synthetic s = synthetic(10, 2);
  const Predict refuses = [](std::size_t i, const Parameters&) -> double {
    if (i >= 4) throw Error(Error::Kind::Unsupported, "row " + std::to_string(i));
    return 1;
  };
  try {
    fit(s.rows, refuses, Parameters(), three_free());
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "row 4");
  }
}

// A source that disagrees with the others moves the fit to all; each fit without one is the fit of
// the rest from scratch.
TEST(CrossValidation, WithoutASourceIsTheFitOfTheOthers) {
  Synthetic s = synthetic(60, 3);
  const Random random(9);
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    s.rows[i].measured *= std::exp(0.1 * (random.uniform(i) - 0.5));
    if (s.rows[i].source == 2) s.rows[i].measured *= 1.12;
  }
  FitOptions options = three_free();
  options.noise = 0.05;
  const CrossResult cross = cross_validate(s.rows, s.predict(), Parameters::priors(), options);
  ASSERT_EQ(cross.without.size(), 3u);
  for (int source = 0; source < 3; ++source) {
    std::vector<FitRow> rest = s.rows;
    for (FitRow& row : rest)
      if (row.source == source) row.weight = 0;
    options.iterations = 40;
    const FitResult scratch = fit(rest, s.predict(), Parameters::priors(), options);
    for (const P p : testing::non_empty(options.free))
      EXPECT_NEAR(cross.without[static_cast<std::size_t>(source)][p] / scratch.parameters[p], 1,
                  3e-3)
          << source << " " << info(p).name;
    for (std::size_t i = 0; i < s.rows.size(); ++i)
      EXPECT_NEAR(s.rows[i].source == source ? cross.log_errors[i] : scratch.log_errors[i],
                  scratch.log_errors[i], 5e-4);
  }
  EXPECT_NE(cross.without[2], cross.all.parameters);
}

TEST(CrossValidation, ASourceThatIsOnlyScoredIsPredictedByAll) {
  Synthetic s = synthetic(40, 2);
  for (FitRow& row : s.rows)
    if (row.source == 1) row.weight = 0;
  const CrossResult cross = cross_validate(s.rows, s.predict(), Parameters::priors(), three_free());
  EXPECT_EQ(cross.without[1], cross.all.parameters);
}

TEST(WeightedQuantile, CountsWeightNotRows) {
  const std::vector<double> logs = {std::log(1.1), std::log(0.8), std::log(1.3), std::log(1.5)};
  const std::vector<double> same = {1, 1, 1, 1}, first = {10, 1, 1, 0};
  EXPECT_NEAR(weighted_quantile(logs, same, 0.5), 0.2, 1e-12);
  EXPECT_NEAR(weighted_quantile(logs, same, 0.51), 0.3, 1e-12);
  EXPECT_NEAR(weighted_quantile(logs, same, 1), 0.5, 1e-12);
  EXPECT_NEAR(weighted_quantile(logs, first, 0.5), 0.1, 1e-12);
  EXPECT_NEAR(weighted_quantile(logs, first, 1), 0.3, 1e-12);
  EXPECT_EQ(weighted_quantile({}, {}, 0.5), 0);
}

TEST(KendallTau, CountsPairsThatAreApart) {
  const std::vector<double> measured = {1, 2, 3, 4};
  EXPECT_EQ(kendall_tau(measured, std::vector<double>{2, 4, 6, 8}, 0.03), 1);
  EXPECT_EQ(kendall_tau(measured, std::vector<double>{8, 6, 4, 2}, 0.03), -1);
  EXPECT_NEAR(*kendall_tau(measured, std::vector<double>{1, 3, 2, 4}, 0.03), 4.0 / 6, 1e-12);
  // 1.00 and 1.02 are the same within 3 %: their order says nothing.
  EXPECT_EQ(kendall_tau(std::vector<double>{1.00, 1.02, 2}, std::vector<double>{2, 1, 3}, 0.03), 1);
  EXPECT_FALSE(kendall_tau(std::vector<double>{1.00, 1.02}, std::vector<double>{2, 1}, 0.03));
  EXPECT_FALSE(kendall_tau({}, {}, 0.03));
}

TEST(KendallTau, IsThatOfAllPairs) {
  EXPECT_TRUE(rc::check([] {
    std::vector<double> measured, predicted;
    for (const int v : *rc::gen::container<std::vector<int>>(rc::gen::inRange(90, 110))) {
      measured.push_back(v);
      predicted.push_back(*rc::gen::inRange(1, 6));
    }
    long agreeing = 0, pairs = 0;
    for (std::size_t i = 0; i < measured.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const double apart = measured[i] - measured[j];
        if (std::abs(apart) <= 0.03 * std::min(measured[i], measured[j])) continue;
        const double both = apart * (predicted[i] - predicted[j]);
        agreeing += both > 0 ? 1 : both < 0 ? -1 : 0;
        ++pairs;
      }
    const auto tau = kendall_tau(measured, predicted, 0.03);
    RC_ASSERT(tau.has_value() == (pairs > 0));
    if (tau) RC_ASSERT(*tau == static_cast<double>(agreeing) / static_cast<double>(pairs));
  }));
}

TEST(KendallTau, TurnsItsSignWithThePredictions) {
  EXPECT_TRUE(rc::check([] {
    const auto values = *rc::gen::container<std::vector<double>>(
        rc::gen::map(rc::gen::inRange(1, 100), [](int v) { return static_cast<double>(v); }));
    std::vector<double> other = values, turned = values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      other[i] = *rc::gen::inRange(1, 100);
      turned[i] = -other[i];
    }
    const auto tau = kendall_tau(values, other, 0.03), back = kendall_tau(values, turned, 0.03);
    RC_ASSERT(tau.has_value() == back.has_value());
    if (tau) RC_ASSERT(*tau == -*back);
    if (tau) RC_ASSERT(*kendall_tau(values, values, 0.03) == 1);
  }));
}

}  // namespace
}  // namespace trainyard
