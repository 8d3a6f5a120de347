// Slowness says how unequal the devices of a cluster are in use. The time that a device computes is
// its kind's times a log-normal factor with median 1 that lasts, times another one that is drawn
// anew in every step; one device may be throttled beside that, and one link may be slow. Devices
// that wait for each other are as slow as the slowest of them:
//
//   all meet in every step   E[the slowest of P]
//   once in H steps          E[the slowest sum of H steps of P] / H
//   nobody waits             exp(sigma^2 / 2), the mean
//
// Communication is not drawn: it begins when the slowest is there. Results are in medians, so that
// 1 is a device as its data sheet and cost model have it.
#pragma once

#include <cstdint>

namespace trainyard {

/// The seed of a simulation that takes the mean over all draws.
inline constexpr std::uint64_t kMeanOfDraws = 0;

struct Slowness {
  double lasting = 0;      // spread of the logarithm of a device's own factor, 0 to kMostSpread
  double jitter = 0;       // spread of that of one device in one step, 0 to kMostSpread
  double throttled = 1;    // device 0 takes so many times as long, 1 to kMostThrottled
  double slow_link = 1;    // what passes the farthest link of device 0 takes so many times as long,
                           // 1 to kMostThrottled
  std::uint64_t seed = 1;  // draws the factors of devices
  friend bool operator==(const Slowness&, const Slowness&) = default;
};

inline constexpr double kMostSpread = 1.5;
inline constexpr double kMostThrottled = 1000;

/// Says whether a device's computation differs from that of others.
inline bool has_slow_devices(const Slowness& s) {
  return s.lasting > 0 || s.jitter > 0 || s.throttled > 1;
}

// The following take 1 to kMostStragglers devices, a sigma from 0 to kMostSpread and periods from
// 1.

inline constexpr std::int64_t kMostStragglers = 1'000'000;

/// Returns the expected time of the slowest device, by quadrature. One of them takes `throttled`
/// times as long as the others, at least 1.
double slowest_step(std::int64_t devices, double sigma, double throttled = 1);

/// Returns the spread of the mean of so many steps that are drawn anew, taken as log-normal with
/// the same mean and variance (Fenton and Wilkinson). Within 2 % of drawn times for 2 to 64 devices
/// while sigma is at most 0.6.
double sigma_of_period(double sigma, std::int64_t period);

/// WaitingDevices are `groups` groups of `each` devices. Those of a group wait for each other in
/// every step, the groups once in `period` steps, or never where that is 0.
struct WaitingDevices {
  std::int64_t groups = 1, each = 1;
  std::int64_t period = 1;
  std::int64_t all() const { return groups * each; }
  friend bool operator==(const WaitingDevices&, const WaitingDevices&) = default;
};

/// Returns the expected mean time of a step; device 0, which may be throttled, is one of the
/// devices only if `with_first`. What lasts does not average out over a period, what is drawn anew
/// in each step does. Where groups of several devices have a period, the slowest of a group is
/// taken as log-normal, which is within 3 % of drawn times while both spreads are at most 0.2.
double expected_slowness(const Slowness&, const WaitingDevices&, bool with_first);

/// Returns a draw of a step's time: by seed, device and number of its step.
double drawn_step(double sigma, std::uint64_t seed, std::int64_t device, std::int64_t step);
/// Returns the draw of a device's own factor that lasts, of a seed of its own; `draw` counts
/// independent clusters.
double drawn_lasting(double sigma, std::uint64_t seed, std::int64_t device, std::int64_t draw = 0);

/// Returns the drawn counterpart of expected_slowness() for devices [first, first + all()), group
/// after group; its mean over seeds is that. A period of more than kMostDrawnSteps steps has the
/// mean of so many.
double drawn_slowness(const Slowness&, const WaitingDevices&, std::int64_t first);
inline constexpr std::int64_t kMostDrawnSteps = 64;

}  // namespace trainyard
