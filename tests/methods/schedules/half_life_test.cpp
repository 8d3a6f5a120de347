// How long a delayed optimizer takes to halve its error on quadratics of condition number 1000, at
// the best of a grid of rates: what spike compensation and weight prediction gain and cost.
// Simulated update by update with the very rule that backends apply.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "core/methods/precision/update_rule.h"

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<double> curvatures() {
  constexpr int kCount = 7;
  std::vector<double> list;
  for (int i = 0; i < kCount; ++i) list.push_back(std::pow(1000, -i / (kCount - 1.0)));
  return list;
}

// Each gradient is that of the weights that a forward read `delay` updates before. Measured from
// the third to the fourth quarter, when all but the slowest swings have died away.
double half_life(const UpdateRule& rule, int delay, int updates) {
  const std::vector<double> lambda = curvatures();
  ParameterState state = parameter_state(std::vector<double>(lambda.size(), 1.0));
  std::deque<std::vector<double>> read(static_cast<std::size_t>(delay) + 1, state.weights);
  std::vector<double> gradient(lambda.size());
  double third = 0, fourth = 0;
  for (int t = 0; t < updates; ++t) {
    read.push_back(forward_weights(rule, state));
    read.pop_front();
    for (std::size_t i = 0; i < lambda.size(); ++i) gradient[i] = lambda[i] * read.front()[i];
    update(rule, state, gradient);
    double most = 0;
    for (double w : state.weights) most = std::max(most, std::abs(w));
    if (!(most < 1e100)) return kNever;
    double& quarter = t < updates * 3 / 4 ? third : fourth;
    if (t >= updates / 2) quarter = std::max(quarter, most);
  }
  return fourth < third ? updates / 4 * std::log(2) / std::log(third / fourth) : kNever;
}

// Over rates 10^(k/20), from 10 down: once past the best, slower is only worse.
double best_half_life(UpdateRule rule, int delay, int updates) {
  double best = kNever;
  for (int k = 20; k >= -80; --k) {
    rule.rate = std::pow(10, k / 20.0);
    const double found = half_life(rule, delay, updates);
    if (best < kNever && found > 1.2 * best) break;
    best = std::min(best, found);
  }
  return best;
}

struct Column {
  const char* name;
  bool spikes;
  Prediction prediction;
  int horizon;  // in delays
};
constexpr Column kColumns[] = {
    {"none", false, Prediction::None, 1},
    {"SC", true, Prediction::None, 1},
    {"LWP", false, Prediction::Velocity, 1},
    {"SC + LWP by velocity", true, Prediction::Velocity, 1},
    {"SC + LWP by weight", true, Prediction::Weight, 1},
    {"LWP, twice the horizon", false, Prediction::Velocity, 2},
};

struct HalfLifeRow {
  int delay;
  double momentum;
  double expected[6];
};
constexpr HalfLifeRow kTable[] = {
    {0, 0.9, {13, 13, 13, 13, 13, 13}},           {4, 0.9, {2750, 1545, 1545, 1737, 1547, 1950}},
    {4, 0.99, {3023, 470, 408, 159, 136, 159}},   {12, 0.99, {8648, 2120, 2121, 1890, 1318, 1891}},
    {4, 0, {2189, 2189, 3474, 3474, 3474, 6180}},
};

TEST(HalfLife, IsThatOfTheTable) {
  for (const HalfLifeRow& row : kTable)
    for (std::size_t c = 0; c < std::size(kColumns); ++c) {
      const UpdateRule rule{.momentum = row.momentum,
                            .forward_delay = static_cast<double>(row.delay),
                            .compensate_spikes = kColumns[c].spikes,
                            .prediction = kColumns[c].prediction,
                            .horizon = static_cast<double>(row.delay * kColumns[c].horizon)};
      // Quick cells swing: many half-lives, until the slowest swing is alone.
      const double least = row.delay == 0 ? 500 : 8000;
      const int updates = static_cast<int>(std::max(6 * row.expected[c], least));
      const double found = best_half_life(rule, row.delay, updates);
      EXPECT_NEAR(found / row.expected[c], 1, 0.05)
          << kColumns[c].name << ", delay " << row.delay << ", momentum " << row.momentum;
    }
}

}  // namespace
}  // namespace trainyard
