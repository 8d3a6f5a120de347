#include "core/cluster/slowness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>

#include "core/base/random.h"

namespace trainyard {
namespace {

double mean_factor(double sigma) { return std::exp(sigma * sigma / 2); }

// The largest of P normals, one of them moved by ln(throttled) / sigma, has the derivative of
// N(z)^(P - 1) N(z - moved) as its density. The trapezoidal rule is exact to rounding for such a
// bell, which has no ends.
double integrated_step(std::int64_t devices, double sigma, double throttled) {
  constexpr double kFrom = -12, kTo = 14, kStep = 1.0 / 128, kFar = 40;
  const double moved = throttled > 1 ? std::log(throttled) / sigma : 0;
  // The others never take as long as the one.
  if (!(moved < kFar)) return throttled * mean_factor(sigma);
  const auto others = static_cast<double>(devices - 1);
  const auto density = [](double z) { return std::exp(-z * z / 2); };
  const auto share_below = [](double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; };
  double sum = 0;
  for (double z = kFrom; z <= kTo + moved; z += kStep) {
    const double below = share_below(z), one_below = share_below(z - moved);
    double at = density(z - moved) * std::pow(below, others);
    if (devices > 1) at += others * density(z) * std::pow(below, others - 1) * one_below;
    sum += std::exp(sigma * z) * at;
  }
  return sum * kStep / std::sqrt(2 * std::numbers::pi);
}

// Groups of several that meet once in a period. The slowest of a group is taken as log-normal, with
// a variance of which jitter has its part; that part averages out over the period.
double seldom_step(const Slowness& s, const WaitingDevices& d, double throttled) {
  const double both = std::hypot(s.jitter, s.lasting);
  const double mean = slowest_step(d.each, both);
  if (!(both > 0)) return mean * throttled;
  // The square of the slowest's time is the slowest's of twice the spread.
  const double square = slowest_step(d.each, 2 * both);
  const double variance = std::log(std::max(1.0, square / (mean * mean)));
  const double lasts = s.lasting * s.lasting / (both * both);
  const double sigma = std::sqrt(variance * (lasts + (1 - lasts) / static_cast<double>(d.period)));
  return slowest_step(d.groups, sigma, slowest_step(d.each, both, throttled) / mean) * mean /
         mean_factor(sigma);
}

}  // namespace

double slowest_step(std::int64_t devices, double sigma, double throttled) {
  // A search of plans asks for a few numbers of devices a million times.
  constexpr std::size_t kRemembered = 64;
  thread_local std::map<std::tuple<std::int64_t, double, double>, double> known;
  if (known.size() > kRemembered) known.clear();
  const auto [at, is_new] = known.try_emplace({devices, sigma, throttled}, 0.0);
  if (is_new) at->second = integrated_step(devices, sigma, throttled);
  return at->second;
}

double sigma_of_period(double sigma, std::int64_t period) {
  return std::sqrt(std::log1p(std::expm1(sigma * sigma) / static_cast<double>(period)));
}

double expected_slowness(const Slowness& s, const WaitingDevices& d, bool with_first) {
  const double throttled = with_first ? s.throttled : 1;
  if (d.period == 0) {  // the mean over groups that do not wait
    const double sigma = std::hypot(s.lasting, s.jitter);
    const double plain = slowest_step(d.each, sigma);
    if (!(throttled > 1)) return plain;
    const auto groups = static_cast<double>(d.groups);
    return ((groups - 1) * plain + slowest_step(d.each, sigma, throttled)) / groups;
  }
  if (d.period == 1) return slowest_step(d.all(), std::hypot(s.jitter, s.lasting), throttled);
  if (d.each > 1) return seldom_step(s, d, throttled);
  const double of_mean = sigma_of_period(s.jitter, d.period);
  return slowest_step(d.groups, std::hypot(of_mean, s.lasting), throttled) * mean_factor(s.jitter) /
         mean_factor(of_mean);
}

// Two even draws make one normal draw (Box and Muller, 1958).
double drawn_step(double sigma, std::uint64_t seed, std::int64_t device, std::int64_t step) {
  const Random random(seed, static_cast<std::uint64_t>(device));
  const auto at = 2 * static_cast<std::uint64_t>(step);
  const double radius = std::sqrt(-2 * std::log1p(-random.uniform(at)));
  return std::exp(sigma * radius * std::cos(2 * std::numbers::pi * random.uniform(at + 1)));
}

double drawn_lasting(double sigma, std::uint64_t seed, std::int64_t device, std::int64_t draw) {
  constexpr std::uint64_t kOfDevices = 0x9e3779b97f4a7c15;
  return sigma > 0 ? drawn_step(sigma, seed ^ kOfDevices, device, draw) : 1.0;
}

double drawn_slowness(const Slowness& s, const WaitingDevices& d, std::int64_t first) {
  const std::int64_t steps =
      s.jitter > 0 ? std::clamp<std::int64_t>(d.period, 1, kMostDrawnSteps) : 1;
  double slowest = 0, mean = 0;
  for (std::int64_t group = 0; group < d.groups; ++group) {
    double sum = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      double longest = 0;
      for (std::int64_t i = 0; i < d.each; ++i) {
        const std::int64_t device = first + group * d.each + i;
        double factor = drawn_lasting(s.lasting, s.seed, device);
        if (device == 0) factor *= s.throttled;
        if (s.jitter > 0) factor *= drawn_step(s.jitter, s.seed, device, step);
        longest = std::max(longest, factor);
      }
      sum += longest;
    }
    const double one = sum / static_cast<double>(steps);
    slowest = std::max(slowest, one), mean += one / static_cast<double>(d.groups);
  }
  return d.period == 0 ? mean : slowest;
}

}  // namespace trainyard
