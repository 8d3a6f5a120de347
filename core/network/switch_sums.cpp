#include "core/network/switch_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/base/drawn_normal.h"

namespace trainyard {
namespace {

// Bits below the binary point, so that the sum of all parts stays below 2^30 and what rounding adds
// below the sign.
int fraction_bits(std::size_t parts, float largest) {
  int carries = 0;
  while ((std::size_t{1} << carries) < parts) ++carries;
  return 29 - carries - std::ilogb(largest);
}

float fixed_point_sum(std::span<const float> parts, std::span<const std::int32_t> arrival,
                      float largest) {
  if (largest <= 0) return 0;
  const int bits = fraction_bits(parts.size(), largest);
  std::int32_t sum = 0;
  for (const std::int32_t rank : arrival)
    sum += static_cast<std::int32_t>(
        std::lround(std::ldexp(static_cast<double>(parts[static_cast<std::size_t>(rank)]), bits)));
  return static_cast<float>(std::ldexp(static_cast<double>(sum), -bits));
}

float float_sum(std::span<const float> parts, std::span<const std::int32_t> order) {
  float sum = 0;
  for (const std::int32_t rank : order) sum += parts[static_cast<std::size_t>(rank)];
  return sum;
}

std::vector<std::int32_t> ranks_in_order(std::size_t workers) {
  std::vector<std::int32_t> order(workers);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

float switch_sum(SwitchAdder adder, std::span<const float> parts,
                 std::span<const std::int32_t> arrival, float largest) {
  if (adder == SwitchAdder::FixedPoint) return fixed_point_sum(parts, arrival, largest);
  if (adder == SwitchAdder::Arrival) return float_sum(parts, arrival);
  return float_sum(parts, ranks_in_order(parts.size()));
}

std::vector<SwitchSums> study_switch_sums(std::int64_t workers, std::int64_t packet,
                                          std::uint64_t seed) {
  constexpr std::int64_t kNumbers = 1'024, kOrders = 8;
  const auto p = static_cast<std::size_t>(workers);
  const Random numbers(seed, 4'000), orders(seed, 4'001);
  std::vector<SwitchSums> found;
  for (std::size_t a = 0; a < kSwitchAdders.size(); ++a)
    found.push_back({static_cast<SwitchAdder>(a)});
  double exact_squares = 0;
  std::uint64_t drawn = 0, turns = 0;
  for (std::int64_t first = 0; first < kNumbers; first += packet) {
    const auto count = static_cast<std::size_t>(std::min(packet, kNumbers - first));
    std::vector<std::vector<float>> sent(count, std::vector<float>(p));
    float largest = 0;
    for (std::vector<float>& parts : sent)
      for (float& part : parts) {
        part = static_cast<float>(drawn_normal(numbers, drawn++));
        largest = std::max(largest, std::abs(part));
      }
    std::vector<std::vector<std::int32_t>> arrivals;
    for (std::int64_t o = 0; o < kOrders; ++o) {
      std::vector<std::int32_t>& order = arrivals.emplace_back(ranks_in_order(p));
      for (std::size_t left = p; left > 1; --left)
        std::swap(order[left - 1], order[static_cast<std::size_t>(orders.between(
                                       turns++, 0, static_cast<std::int64_t>(left) - 1))]);
    }
    for (const std::vector<float>& parts : sent) {
      const double exact = std::accumulate(parts.begin(), parts.end(), 0.0);
      exact_squares += exact * exact;
      for (SwitchSums& row : found) {
        const float sum = switch_sum(row.adder, parts, arrivals.front(), largest);
        row.error += (sum - exact) * (sum - exact);
        row.differing += std::any_of(arrivals.begin() + 1, arrivals.end(), [&](const auto& order) {
          return !same_bits(switch_sum(row.adder, parts, order, largest), sum);
        });
      }
    }
  }
  for (SwitchSums& row : found) {
    row.differing /= kNumbers;
    row.error = exact_squares > 0 ? std::sqrt(row.error / exact_squares) : 0;
  }
  return found;
}

}  // namespace trainyard
