// One after another, each into the lowest gap that holds it: largest first after TensorFlow Lite
// Micro's planner (David et al., MLSys 2021), or in another fixed order. Quick, near the bound on
// most traces, and no proof of anything.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/memory/lifetime.h"

namespace trainyard {

struct Placement1D {
  std::vector<Bytes> offsets;  // by lifetime, multiples of the alignment; what is never there: 0
  Bytes reach{};               // end of the highest, its size rounded up to the alignment
  Bytes lower_bound{};         // most alive at once: no placement reaches less
};

/// What comes first. Ties go to the longer life, then to the lower index, but those of size at once
/// to the lower index, as in the planner it is named after, or to the earlier.
enum class FitOrder : std::uint8_t {
  BySize,
  ByArea,   // size times time
  ByWidth,  // time
  BySizeThenBeginning,
  ByTotal,     // most alive at once in its time, then area
  ByBeginning  // first come, first served
};
inline constexpr std::array kFitOrders = {FitOrder::BySize,  FitOrder::BySizeThenBeginning,
                                          FitOrder::ByArea,  FitOrder::ByWidth,
                                          FitOrder::ByTotal, FitOrder::ByBeginning};
std::string_view to_string(FitOrder);  // "by size" ...

/// Quadratic in those that overlap. alignment >= 1 byte.
Placement1D best_fit(std::span<const Lifetime>, FitOrder, Bytes alignment);

/// Largest first.
inline Placement1D place(std::span<const Lifetime> lives, Bytes alignment = Bytes{64}) {
  return best_fit(lives, FitOrder::BySize, alignment);
}

}  // namespace trainyard
