#include "core/methods/precision/update_stability.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard {
namespace {

using SquareRows = std::vector<std::vector<double>>;

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

SquareRows squared(const SquareRows& a) {
  const std::size_t n = a.size();
  SquareRows out(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      if (a[i][k] != 0)
        for (std::size_t j = 0; j < n; ++j) out[i][j] += a[i][k] * a[k][j];
  return out;
}

// Squares the map until its norm, or at the latest 2^30 updates, tell whether it grows. A power
// whose largest entry is below 1 / n has a radius below 1; those of a stable map stay far below
// 1e12.
bool is_bounded(const UpdateRule& rule, const Quadratic& f, int delay) {
  const std::size_t n = 4 + static_cast<std::size_t>(delay);
  SquareRows a(n, std::vector<double>(n));  // of rows, transposed: the radius is the same
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> unit(n, 0);
    unit[i] = 1;
    a[i] = step(rule, f, delay, unit);
  }
  double log_norm = 0;
  constexpr int kSquarings = 30;
  const double shrunk = -std::log(static_cast<double>(n)), grown = std::log(1e12);
  for (int k = 0; k < kSquarings; ++k) {
    a = squared(a);
    double most = 0;
    for (const auto& row : a)
      for (const double x : row) most = std::max(most, std::abs(x));
    if (most == 0) return true;
    log_norm = 2 * log_norm + std::log(most);
    if (log_norm < shrunk || log_norm > grown) return log_norm < shrunk;
    for (auto& row : a)
      for (double& x : row) x /= most;
  }
  constexpr double kMostGrowth = 1e-7;  // per update
  return log_norm / std::pow(2, kSquarings) <= kMostGrowth;
}

}  // namespace

double largest_stable_rate(UpdateRule rule, const Quadratic& f, int delay) {
  double stable = 0, unstable = 4 / f.curvature;
  for (int i = 0; i < 30; ++i) {
    rule.rate = 0.5 * (stable + unstable);
    (is_bounded(rule, f, delay) ? stable : unstable) = rule.rate;
  }
  return stable;
}

}  // namespace trainyard
