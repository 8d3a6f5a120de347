// A switch that adds up gradients takes packets as they come. The sum of more than two numbers in
// fp32 depends on their order, so that a run which is repeated does not end at the same bits. It
// does where packets wait for their turn, or where switches add integers: Sapio et al., "Scaling
// Distributed Machine Learning with In-Network Aggregation" (SwitchML), NSDI 2021, in which all
// workers scale a packet by a factor that they agree on before.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainyard {

enum class SwitchAdder : std::uint8_t {
  Arrival,     // in fp32, in the order in which packets come
  Ranks,       // in fp32, in the order of the workers: packets wait for those before them
  FixedPoint,  // in integers of 32 bits, in the order in which packets come
};
inline constexpr std::array<std::string_view, 3> kSwitchAdders = {"order of arrival",
                                                                  "order of ranks", "fixed point"};
inline std::string_view to_string(SwitchAdder adder) {
  return kSwitchAdders[static_cast<std::size_t>(adder)];
}

/// Returns the sum of what each worker sends, `parts` by rank; `arrival` is a permutation of the
/// ranks. All parts are finite and at most `largest` in size, by which Fixed Point scales, and
/// there are at most 2^20 of them.
float switch_sum(SwitchAdder, std::span<const float> parts, std::span<const std::int32_t> arrival,
                 float largest);

/// SwitchSums says what becomes of drawn gradients.
struct SwitchSums {
  SwitchAdder adder = SwitchAdder::Arrival;
  double differing = 0;  // share of the sums whose bits depend on the order of arrival, in [0, 1]
  double error = 0;      // root of the mean square, over that of the exact sums
};
/// Adds up normal numbers of so many workers (at least 1), in packets of so many numbers (at least
/// 1), each of which comes in several drawn orders. One row for each adder, in their order.
std::vector<SwitchSums> study_switch_sums(std::int64_t workers, std::int64_t packet,
                                          std::uint64_t seed);

}  // namespace trainyard
