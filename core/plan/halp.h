// This file has the settings of HALP (core/methods/precision/halp.cpp) in a plan, for those that
// lay out its state, execute it or count it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kHalp = "halp";  // the optimizer, and the method of its
                                                   // parameters

/// Halp is how often HALP takes the full gradient, and the grid on which it moves in between.
struct Halp {
  int bits = 8;            // of an offset from the anchor, 2 to 16
  double mu = 0.1;         // strong convexity that the width of the grid assumes, above 0
  std::int64_t inner = 8;  // steps that move the weights about one anchor, at least 1
  std::int64_t pass = 1;   // steps before them that add up the full gradient, at least 1

  std::int64_t round() const { return pass + inner; }  // steps from one anchor to the next
  /// Returns whether step t, the first being 0, adds up the full gradient and moves nothing.
  bool is_pass(std::int64_t t) const { return t % round() < pass; }
  friend bool operator==(const Halp&, const Halp&) = default;
};

/// Returns whether the plan's optimizer is HALP.
inline bool trains_by_halp(const Plan& plan) { return plan.optimizer == kHalp; }
/// Returns what the plan says of it, and the defaults where it says nothing.
Halp halp_of(const Plan&);

}  // namespace trainyard
