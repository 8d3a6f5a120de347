#include "core/training/parameter_server.h"

#include <algorithm>
#include <numeric>

#include "core/base/random.h"

namespace trainyard {
namespace {

// Returns where each replica is in an order.
std::vector<std::int64_t> positions_in(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> found(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    found[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return found;
}

}  // namespace

std::vector<std::int64_t> order_of(const Arrivals& a, std::int64_t round) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.replicas));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (!a.shuffled) return order;
  const Random random(a.seed, static_cast<std::uint64_t>(round));
  for (std::int64_t left = a.replicas; left > 1; --left)
    std::swap(order[static_cast<std::size_t>(left - 1)],
              order[static_cast<std::size_t>(
                  random.between(static_cast<std::uint64_t>(left), 0, left - 1))]);
  return order;
}

std::vector<std::int64_t> staleness_of(const Arrivals& a, std::int64_t round) {
  std::vector<std::int64_t> found = positions_in(order_of(a, round));
  if (round == 0) return found;
  const std::vector<std::int64_t> before = positions_in(order_of(a, round - 1));
  for (std::size_t r = 0; r < found.size(); ++r) found[r] += a.replicas - 1 - before[r];
  return found;
}

void serve(const Arrivals& a, std::int64_t round, bool divides,
           std::span<const std::span<float>> fetched,
           std::span<const std::span<const float>> pushed) {
  const std::vector<std::int64_t> order = order_of(a, round), stale = staleness_of(a, round);
  const std::span<float> newest = fetched[static_cast<std::size_t>(last_served(a, round))];
  std::vector<float> weights(newest.begin(), newest.end());
  for (const std::int64_t replica : order) {
    const auto r = static_cast<std::size_t>(replica);
    const double parts = divides ? static_cast<double>(std::max<std::int64_t>(1, stale[r])) : 1;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] =
          static_cast<float>(weights[i] + (double{pushed[r][i]} - double{fetched[r][i]}) / parts);
      fetched[r][i] = weights[i];
    }
  }
}

std::int64_t last_served(const Arrivals& a, std::int64_t rounds) {
  return order_of(a, std::max<std::int64_t>(0, rounds - 1)).back();
}

}  // namespace trainyard
