// This file has the formulas that lessons may call, one line each with its paper.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/cost/collectives/alpha_beta.h"
#include "core/cost/collectives/bus_bandwidth.h"
#include "core/lesson/expression.h"
#include "core/lesson/replica_descent.h"
#include "core/result/stable_rate.h"

namespace trainyard {
namespace {

constexpr int kMostSteps = 20'000, kMostDelay = 1'000;

// Runs gradient descent on w^2 / 2 from w = 1 where forward reads weights that are `delay` updates
// old. The gradient is (1 + D) w(t - delay) - D u, where D is the discrepancy and u is the weight
// that backward reads: w(t) or, when corrected, w(t) less delay times the running mean of its
// change (PipeMare's T2). Returns the ratio of the last loss to the first.
double descent(double rate, double delay, double discrepancy, bool corrected, double steps) {
  const auto lag = static_cast<std::size_t>(std::clamp(delay, 0.0, double{kMostDelay}));
  const int most = static_cast<int>(std::clamp(steps, 0.0, double{kMostSteps}));
  std::vector<double> past(lag + 1, 1.0);  // a ring buffer of weights; the oldest comes next
  double w = 1, motion = 0;
  const double keep = lag > 0 ? std::exp(-2.0 / static_cast<double>(lag)) : 0;
  for (int t = 0; t < most; ++t) {
    past[static_cast<std::size_t>(t) % past.size()] = w;
    const double old = past[(static_cast<std::size_t>(t) + 1) % past.size()];
    const double back = corrected ? w - static_cast<double>(lag) * motion : w;
    const double next = w - rate * ((1 + discrepancy) * old - discrepancy * back);
    motion = keep * motion + (1 - keep) * (next - w);
    w = next;
    if (!(std::abs(w) < 1e12)) return 1e24;  // it diverged; the figure only shows that
  }
  return w * w;
}

// Finds by bisection the largest rate at which descent() does not diverge.
double stable_rate(double delay, double discrepancy, bool corrected) {
  double low = 0, high = 2.5;
  for (int i = 0; i < 22; ++i) {
    const double middle = (low + high) / 2;
    (descent(middle, delay, discrepancy, corrected, 6'000) < 1 ? low : high) = middle;
  }
  return low;
}

std::int64_t whole(double n) { return static_cast<std::int64_t>(std::clamp(n, 1.0, 1e9)); }

std::vector<LessonFunction> make() {
  using A = const double*;
  return {
      {"min", 2, "the smaller", [](A a) { return std::min(a[0], a[1]); }},
      {"max", 2, "the larger", [](A a) { return std::max(a[0], a[1]); }},
      {"abs", 1, "without its sign", [](A a) { return std::abs(a[0]); }},
      {"sqrt", 1, "square root", [](A a) { return std::sqrt(a[0]); }},
      {"pow", 2, "a to the power b", [](A a) { return std::pow(a[0], a[1]); }},
      {"exp", 1, "e to the power a", [](A a) { return std::exp(a[0]); }},
      {"log2", 1, "logarithm to base 2", [](A a) { return std::log2(a[0]); }},
      {"floor", 1, "rounded down", [](A a) { return std::floor(a[0]); }},
      {"ceil", 1, "rounded up", [](A a) { return std::ceil(a[0]); }},
      {"bus_factor", 1, "2 (n - 1) / n: bytes that an all-reduce of n ranks moves, of its vector",
       [](A a) { return bus_factor(CollectiveKind::AllReduce, whole(a[0])); }},
      {"ring_all_reduce", 4,
       "seconds of a ring: bytes, ranks, seconds a message, bytes a second (Thakur et al. 2005)",
       [](A a) { return ring_all_reduce(a[0], whole(a[1]), {a[2], 1 / a[3], 0}); }},
      {"best_interval", 2, "sqrt(2 C M), Young 1974: stall C, mean time between failures M",
       [](A a) { return std::sqrt(2 * a[0] * a[1]); }},
      {"lost_time", 3, "C / T + T / (2 M), Young 1974: stall C, mean time M, interval T",
       [](A a) { return a[0] / a[2] + a[2] / (2 * a[1]); }},
      {"stable_delay_rate", 1,
       "2 sin(pi / (4 d + 2)): the largest stable rate on curvature 1 with gradients d updates old "
       "(Yang et al., PipeMare)",
       [](A a) { return 2 * stable_rate_share(a[0]); }},
      {"stable_rate", 3,
       "the same found by running it: delay, discrepancy of forward and backward, 1 where "
       "corrected",
       [](A a) { return stable_rate(a[0], a[1], a[2] != 0); }},
      {"delayed_loss", 5,
       "loss after descent with old gradients, first loss 1: rate, delay, discrepancy, 1 where "
       "corrected, steps",
       [](A a) { return descent(a[0], a[1], a[2], a[3] != 0, a[4]); }},
      {"replica_loss", 3,
       "loss of a logistic regression after 8 epochs, 8 samples a replica and update: 0 for the "
       "mean of gradients, 1 for their sum, 2 for Adasum (Maleki et al. 2021); replicas up to 64; "
       "rate",
       [](A a) {
         return replica_loss(a[0] == 0   ? ReplicaWay::Mean
                             : a[0] == 1 ? ReplicaWay::Sum
                                         : ReplicaWay::Adasum,
                             static_cast<int>(std::clamp(a[1], 1.0, 64.0)),
                             std::clamp(a[2], 0.0, 1e3));
       }},
  };
}

}  // namespace

const std::vector<LessonFunction>& lesson_functions() {
  static const std::vector<LessonFunction> list = make();
  return list;
}

const LessonFunction* find_lesson_function(std::string_view name) {
  for (const LessonFunction& function : lesson_functions())
    if (function.name == name) return &function;
  return nullptr;
}

}  // namespace trainyard
