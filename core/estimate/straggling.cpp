#include "core/estimate/straggling.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <queue>
#include <set>
#include <tuple>

#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr std::int64_t kTabledReplicas[] = {2, 8, 64, 512, 4096};

double mean_step(double sigma) { return std::exp(sigma * sigma / 2); }

StragglingRow straggling_row(std::int64_t replicas, const StragglingQuestion& q) {
  return {replicas, slowest_step(replicas, q.sigma), gumbel_step(replicas, q.sigma),
          step_of_period(replicas, q.sigma, q.period), slowest_step(1, q.sigma)};
}

}  // namespace

// The density of the largest of P normals is P n(z) N(z)^(P - 1). The trapezoidal rule is exact to
// rounding for such a bell, which has no ends.
double slowest_step(std::int64_t replicas, double sigma) {
  constexpr double kFrom = -12, kTo = 14, kStep = 1.0 / 128;
  const auto p = static_cast<double>(replicas);
  double sum = 0;
  for (double z = kFrom; z <= kTo; z += kStep) {
    const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
    sum += p * std::exp(-z * z / 2 + sigma * z) * std::pow(below, p - 1);
  }
  return sum * kStep / std::sqrt(2 * std::numbers::pi);
}

double gumbel_step(std::int64_t replicas, double sigma) {
  const double log = std::log(static_cast<double>(replicas)), q = std::sqrt(2 * log);
  return std::exp(sigma * (q - (std::log(log) + std::log(4 * std::numbers::pi)) / (2 * q) +
                           std::numbers::egamma / q));
}

double step_of_period(std::int64_t replicas, double sigma, std::int64_t period) {
  const double of_sum =
      std::sqrt(std::log1p(std::expm1(sigma * sigma) / static_cast<double>(period)));
  return slowest_step(replicas, of_sum) * mean_step(sigma) / mean_step(of_sum);
}

// Two even draws make one normal draw (Box and Muller, 1958).
double drawn_step(double sigma, std::uint64_t seed, std::int64_t replica, std::int64_t step) {
  const Random random(seed, static_cast<std::uint64_t>(replica));
  const auto at = 2 * static_cast<std::uint64_t>(step);
  const double radius = std::sqrt(-2 * std::log1p(-random.uniform(at)));
  return std::exp(sigma * radius * std::cos(2 * std::numbers::pi * random.uniform(at + 1)));
}

ServerStaleness replay_staleness(std::int64_t replicas, double sigma, std::int64_t arrivals,
                                 std::uint64_t seed) {
  using Arrival = std::tuple<double, std::int64_t>;  // time, then replica
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> under_way;
  std::vector<std::int64_t> fetched(static_cast<std::size_t>(replicas), 0),
      steps(static_cast<std::size_t>(replicas), 0);
  for (std::int64_t r = 0; r < replicas; ++r) under_way.emplace(drawn_step(sigma, seed, r, 0), r);
  constexpr std::int64_t kSettling = 4;
  std::int64_t settled = 0, updates = 0;
  ServerStaleness found;
  double sum = 0, counted = 0;
  while (counted < static_cast<double>(arrivals)) {
    const auto [time, replica] = under_way.top();
    under_way.pop();
    const auto r = static_cast<std::size_t>(replica);
    if (settled == replicas) {
      const auto old = static_cast<std::size_t>(updates - fetched[r]);
      if (old >= found.counts.size()) found.counts.resize(old + 1);
      ++found.counts[old];
      sum += static_cast<double>(old), ++counted;
    }
    fetched[r] = ++updates;
    if (++steps[r] == kSettling) ++settled;
    under_way.emplace(time + drawn_step(sigma, seed, replica, steps[r]), replica);
  }
  found.mean = counted > 0 ? sum / counted : 0;
  return found;
}

StragglingAnswer straggling_answer(const StragglingQuestion& question) {
  StragglingAnswer made{question, {}, {}};
  std::set<std::int64_t> numbers(std::begin(kTabledReplicas), std::end(kTabledReplicas));
  numbers.insert(question.replicas);
  for (const std::int64_t replicas : numbers)
    made.rows.push_back(straggling_row(replicas, question));
  made.staleness =
      replay_staleness(question.replicas, question.sigma, question.arrivals, question.seed);
  return made;
}

const StragglingRow& own_row(const StragglingAnswer& a) {
  return *std::find_if(a.rows.begin(), a.rows.end(), [&](const StragglingRow& row) {
    return row.replicas == a.question.replicas;
  });
}

}  // namespace trainyard
