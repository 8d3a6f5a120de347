// Straggling says how long replicas wait for the slowest of them. The times that a replica takes
// for its steps are independent and log-normal with median 1: exp(sigma x normal). All results are
// in medians a step, and count no exchange.
//
//   all meet in every step   E[the slowest of P]
//   once in H steps          E[the slowest sum of H steps of P] / H
//   nobody waits             exp(sigma^2 / 2), the mean
//
// Beside this jitter a device may be slow for good: by a log-normal factor of its own that lasts,
// or because it is the one that is throttled. A slow link holds up the exchange of all.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cluster/slowness.h"

namespace trainyard {

// The following take 1 to kMostStragglers replicas, sigma from 0 to kMostSpread and periods from 1.

/// Returns Gumbel's approximation of slowest_step() (core/cluster/slowness.h) for at least 2
/// replicas: exp(sigma m), where m = q - (ln ln P + ln 4 pi) / 2 q + 0.5772 / q with q = sqrt(2 ln
/// P) is about the mean of the largest of P normals. It is within 3 % from 4 replicas on while
/// sigma is at most 0.3.
double gumbel_step(std::int64_t replicas, double sigma);

/// Returns the mean step of replicas that wait for each other once in `period` steps. The sum of a
/// period's steps is taken as log-normal with the same mean and variance (Fenton and Wilkinson),
/// which is within 2 % of drawn times for 2 to 64 replicas while sigma is at most 0.6.
double step_of_period(std::int64_t replicas, double sigma, std::int64_t period);

/// ServerStaleness counts the updates that a server of weights makes between a replica's fetch and
/// the arrival of the gradient that it finds: counts[s] gradients were s updates old.
struct ServerStaleness {
  std::vector<std::int64_t> counts;
  double mean = 0;
};
/// Replays an asynchronous server for so many arrivals, in the order of drawn times: each replica
/// fetches, computes, hands in its gradient, and fetches again. Gradients of the first arrivals,
/// until each replica has handed in four, are not counted. Every gap between two arrivals of one
/// replica is bridged by those of others, so that the mean is P - 1 whatever the times are.
ServerStaleness replay_staleness(std::int64_t replicas, double sigma, std::int64_t arrivals,
                                 std::uint64_t seed);

struct StragglingQuestion {
  std::int64_t replicas = 64, period = 10, arrivals = 20'000;
  double sigma = 0.3;  // of the logarithm of a step's time, anew in every step
  std::uint64_t seed = 1;
  double lasting = 0;    // of the logarithm of a device's own slowness, drawn once
  double throttled = 1;  // one replica takes so many times as long, 1 to kMostThrottled
  double exchange = 0;   // of a meeting, in medians a step
  double slow_link = 1;  // so many times as long as it takes because of one link
};
/// The question's replicas as devices of a cluster.
Slowness slowness_of(const StragglingQuestion&);

/// Returns the expected time of a step of replicas that meet once in `period` steps: the slowest of
/// them, and the meeting's exchange. What lasts does not average out over a period, what is drawn
/// anew in each step does.
double expected_step(const StragglingQuestion&, std::int64_t replicas, std::int64_t period);

/// A DrawnMean is the mean of drawn steps of replicas that meet in every step, and its standard
/// error: the other road to expected_step() with period 1. Devices are drawn anew for each step.
struct DrawnMean {
  double mean = 0, error = 0;
};
DrawnMean drawn_mean_step(const StragglingQuestion&, std::int64_t replicas);

/// The replay of an asynchronous server with replicas as slow as the question says.
ServerStaleness replay_staleness(const StragglingQuestion&);

/// Times in medians a step.
struct StragglingRow {
  std::int64_t replicas = 0;
  double slowest = 0, gumbel = 0, of_period = 0, mean = 0;
  DrawnMean drawn{};  // of slowest
};
struct StragglingAnswer {
  StragglingQuestion question;
  std::vector<StragglingRow> rows;  // by rising number of replicas, the question's among them
  ServerStaleness staleness;        // of its number
};
StragglingAnswer straggling_answer(const StragglingQuestion&);
/// The row of the question's own number of replicas.
const StragglingRow& own_row(const StragglingAnswer&);

}  // namespace trainyard
