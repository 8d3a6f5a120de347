#include "core/estimate/straggling.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <queue>
#include <set>
#include <tuple>

namespace trainyard {
namespace {

constexpr std::int64_t kTabledReplicas[] = {2, 8, 64, 512, 4096};

double mean_step(double sigma) { return std::exp(sigma * sigma / 2); }

double together(double sigma, double lasting) { return std::hypot(sigma, lasting); }

// Nobody waits, and nobody meets.
double mean_of_all(const StragglingQuestion& q, std::int64_t replicas) {
  const auto p = static_cast<double>(replicas);
  return (p - 1 + q.throttled) / p * slowest_step(1, together(q.sigma, q.lasting));
}

StragglingRow straggling_row(std::int64_t replicas, const StragglingQuestion& q) {
  return {replicas,
          expected_step(q, replicas, 1),
          gumbel_step(replicas, together(q.sigma, q.lasting)) + q.exchange * q.slow_link,
          expected_step(q, replicas, q.period),
          mean_of_all(q, replicas),
          drawn_mean_step(q, replicas)};
}

// Replica 0 is the one that is throttled.
double device_slowness(const StragglingQuestion& q, std::int64_t replica, std::int64_t draw) {
  const double own = drawn_lasting(q.lasting, q.seed, replica, draw);
  return replica == 0 ? own * q.throttled : own;
}

}  // namespace

double gumbel_step(std::int64_t replicas, double sigma) {
  const double log = std::log(static_cast<double>(replicas)), q = std::sqrt(2 * log);
  return std::exp(sigma * (q - (std::log(log) + std::log(4 * std::numbers::pi)) / (2 * q) +
                           std::numbers::egamma / q));
}

double step_of_period(std::int64_t replicas, double sigma, std::int64_t period) {
  const double of_sum = sigma_of_period(sigma, period);
  return slowest_step(replicas, of_sum) * mean_step(sigma) / mean_step(of_sum);
}

Slowness slowness_of(const StragglingQuestion& q) {
  return {q.lasting, q.sigma, q.throttled, q.slow_link, q.seed};
}

double expected_step(const StragglingQuestion& q, std::int64_t replicas, std::int64_t period) {
  return expected_slowness(slowness_of(q), {replicas, 1, period}, true) +
         q.exchange * q.slow_link / static_cast<double>(period);
}

DrawnMean drawn_mean_step(const StragglingQuestion& q, std::int64_t replicas) {
  constexpr std::int64_t kDraws = 100'000, kLeastDrawn = 50, kMostDrawn = 10'000;
  const std::int64_t steps = std::clamp(kDraws / replicas, kLeastDrawn, kMostDrawn);
  double sum = 0, squares = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    double slowest = 0;
    for (std::int64_t r = 0; r < replicas; ++r)
      slowest =
          std::max(slowest, drawn_step(q.sigma, q.seed, r, step) * device_slowness(q, r, step));
    sum += slowest, squares += slowest * slowest;
  }
  const auto n = static_cast<double>(steps);
  const double mean = sum / n;
  return {mean + q.exchange * q.slow_link,
          std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 1))};
}

ServerStaleness replay_staleness(std::int64_t replicas, double sigma, std::int64_t arrivals,
                                 std::uint64_t seed) {
  return replay_staleness(
      {.replicas = replicas, .arrivals = arrivals, .sigma = sigma, .seed = seed});
}

ServerStaleness replay_staleness(const StragglingQuestion& q) {
  const std::int64_t replicas = q.replicas;
  const auto time_of = [&](std::int64_t replica, std::int64_t step) {
    return drawn_step(q.sigma, q.seed, replica, step) * device_slowness(q, replica, 0);
  };
  using Arrival = std::tuple<double, std::int64_t>;  // time, then replica
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> under_way;
  std::vector<std::int64_t> fetched(static_cast<std::size_t>(replicas), 0),
      steps(static_cast<std::size_t>(replicas), 0);
  for (std::int64_t r = 0; r < replicas; ++r) under_way.emplace(time_of(r, 0), r);
  constexpr std::int64_t kSettling = 4;
  std::int64_t settled = 0, updates = 0;
  ServerStaleness found;
  double sum = 0, counted = 0;
  while (counted < static_cast<double>(q.arrivals)) {
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
    under_way.emplace(time + time_of(replica, steps[r]), replica);
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
  made.staleness = replay_staleness(question);
  return made;
}

const StragglingRow& own_row(const StragglingAnswer& a) {
  return *std::find_if(a.rows.begin(), a.rows.end(), [&](const StragglingRow& row) {
    return row.replicas == a.question.replicas;
  });
}

}  // namespace trainyard
