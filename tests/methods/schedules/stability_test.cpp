// The largest rate at which delayed updates of a scalar quadratic stay bounded. The linear map of
// one update is read off the rule itself, by applying it to each unit state; its spectral radius
// decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/methods/catalogue.h"
#include "core/methods/precision/update_rule.h"
#include "tests/support/flow_facts.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// Gradient (curvature + discrepancy) * what the forward read - discrepancy * what the backward
/// reads.
struct Quadratic {
  double curvature = 1, discrepancy = 0;
};

// State: weight, velocity, motion, weight before, and what forwards read 1, 2 ... delay updates
// ago.
std::vector<double> step(const UpdateRule& rule, const Quadratic& f, int delay,
                         const std::vector<double>& x) {
  ParameterState state = parameter_state({x[0]});
  state.velocity = {x[1]}, state.motion = {x[2]}, state.before = {x[3]};
  state.updates = std::int64_t{1} << 40;  // rates have annealed
  const double reads = forward_weights(rule, state)[0];
  const double read = delay == 0 ? reads : x.back();
  const double gradient[] = {(f.curvature + f.discrepancy) * read -
                             f.discrepancy * backward_weights(rule, state)[0]};
  update(rule, state, gradient);
  std::vector<double> next = {state.weights[0], state.velocity[0], state.motion[0],
                              state.before[0]};
  for (int k = 0; k < delay; ++k)
    next.push_back(k == 0 ? reads : x[4 + static_cast<std::size_t>(k) - 1]);
  return next;
}

Matrix squared(const Matrix& a) {
  const std::size_t n = a.size();
  Matrix out(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      if (a[i][k] != 0)
        for (std::size_t j = 0; j < n; ++j) out[i][j] += a[i][k] * a[k][j];
  return out;
}

// |A^n|^(1/n), n = 2^30.
double growth(const UpdateRule& rule, const Quadratic& f, int delay) {
  const std::size_t n = 4 + static_cast<std::size_t>(delay);
  Matrix a(n, std::vector<double>(n));  // of rows, transposed: the radius is the same
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> unit(n, 0);
    unit[i] = 1;
    a[i] = step(rule, f, delay, unit);
  }
  double log_norm = 0;
  constexpr int kSquarings = 30;
  for (int k = 0; k < kSquarings; ++k) {
    a = squared(a);
    double most = 0;
    for (const auto& row : a)
      for (double x : row) most = std::max(most, std::abs(x));
    log_norm = 2 * log_norm + std::log(most);
    for (auto& row : a)
      for (double& x : row) x /= most;
  }
  return std::exp(log_norm / std::pow(2, kSquarings));
}

double largest_stable_rate(UpdateRule rule, const Quadratic& f, int delay) {
  double stable = 0, unstable = 4 / f.curvature;
  for (int i = 0; i < 30; ++i) {
    rule.rate = 0.5 * (stable + unstable);
    (growth(rule, f, delay) <= 1 + 1e-7 ? stable : unstable) = rule.rate;
  }
  return stable;
}

// 2 sin(pi / (4 tau + 2)) / lambda
TEST(Stability, OfADelayIsThatOfTheFormula) {
  for (double curvature : {1.0, 0.3})
    for (int delay : {0, 1, 2, 5, 10, 20, 50}) {
      const UpdateRule rule{.forward_delay = static_cast<double>(delay)};
      const double bound = 2 * std::sin(std::numbers::pi / (4 * delay + 2)) / curvature;
      EXPECT_NEAR(largest_stable_rate(rule, {curvature, 0}, delay) / bound, 1, 1e-4) << delay;
    }
}

TEST(Stability, MomentumLowersIt) {
  for (const auto& [momentum, expected] : {std::pair{0.0, 0.1495}, {0.5, 0.0696}, {0.9, 0.0114}}) {
    const UpdateRule rule{.momentum = momentum, .forward_delay = 10};
    EXPECT_NEAR(largest_stable_rate(rule, {1, 0}, 10) / expected, 1, 0.005) << momentum;
  }
}

// Rescheduling divides the first rates by the delay and ends at the full one.
TEST(Stability, ReschedulingEndsAtTheRateItself) {
  const UpdateRule rule{.forward_delay = 5, .reschedule = 1000};
  EXPECT_NEAR(largest_stable_rate(rule, {1, 0}, 5), 0.284630, 1e-3);
}

// Rewinding the backward's weights restores five of the eight times that the discrepancy costs.
TEST(Stability, CorrectingTheDiscrepancyRaisesIt) {
  const Quadratic f{.curvature = 1, .discrepancy = 5};
  const double expected[][3] = {{10, 0.0176, 0.0971}, {20, 0.0088, 0.0489}, {40, 0.0044, 0.0246}};
  for (const auto& [delay, none, corrected] : testing::non_empty(expected)) {
    UpdateRule rule{.forward_delay = delay};
    const int updates = static_cast<int>(delay);
    const double without = largest_stable_rate(rule, f, updates);
    rule.correct_discrepancy = true;
    const double with = largest_stable_rate(rule, f, updates);
    EXPECT_NEAR(without, none, 0.0001) << delay;
    EXPECT_NEAR(with, corrected, 0.0001) << delay;
    EXPECT_GE(with / without, 4.5) << delay;
  }
}

double largest_stable_rate(const Method& method, int stages, int microbatches,
                           const Params& given = {}) {
  const StageFacts f = testing::flow_facts(method, stages, microbatches, 4, given)[0];
  return largest_stable_rate(
      update_rule_of(method.name, testing::params_of(method, given), f, 0, 0), {1, 0},
      f.forward_delay);
}

// Two waves that share weights, and double buffering, are one update late; a synchronous step is
// not.
TEST(Stability, OneUpdateOfDelayHalvesTheLargestRate) {
  const auto sync = [](const char* rule) { return Params{{"sync", std::string(rule)}}; };
  EXPECT_NEAR(largest_stable_rate(tick_tock(), 1, 2, sync("async")), 1.00, 0.01);
  EXPECT_NEAR(largest_stable_rate(tick_tock(), 1, 2, sync("accumulate")), 2.00, 0.01);
  EXPECT_NEAR(largest_stable_rate(pipedream_2bw(), 4, 4), 1.00, 0.01);
}

}  // namespace
}  // namespace trainyard
