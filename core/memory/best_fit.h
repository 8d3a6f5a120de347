// Best fit places one buffer after another into the lowest gap that holds it: largest first as in
// TensorFlow Lite Micro's planner (David et al., MLSys 2021), or in another fixed order. It is
// quick and near the bound on most traces, but proves nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/memory/lifetime.h"

namespace trainyard {

struct Placement1D {
  std::vector<Bytes> offsets;  // by lifetime, multiples of the alignment; 0 for an empty lifetime
  Bytes reach{};               // end of the highest buffer, its size rounded up to the alignment
  Bytes lower_bound{};         // most bytes alive at once; no placement reaches less
};

/// FitOrder says which buffer is placed first. Ties go to the longer lifetime, then to the lower
/// index. For BySize they go directly to the lower index, as in TensorFlow Lite Micro's planner,
/// and for BySizeThenBeginning to the earlier lifetime.
enum class FitOrder : std::uint8_t {
  BySize,
  ByArea,   // size times duration
  ByWidth,  // duration
  BySizeThenBeginning,
  ByTotal,     // most bytes alive at once during its lifetime, then area
  ByBeginning  // first come, first served
};
inline constexpr std::array kFitOrders = {FitOrder::BySize,  FitOrder::BySizeThenBeginning,
                                          FitOrder::ByArea,  FitOrder::ByWidth,
                                          FitOrder::ByTotal, FitOrder::ByBeginning};
std::string_view to_string(FitOrder);  // "by size" ...

/// Takes time quadratic in the lifetimes that overlap. alignment >= 1 byte.
Placement1D best_fit(std::span<const Lifetime>, FitOrder, Bytes alignment);

/// Places the largest first.
inline Placement1D place(std::span<const Lifetime> lives, Bytes alignment = Bytes{64}) {
  return best_fit(lives, FitOrder::BySize, alignment);
}

}  // namespace trainyard
