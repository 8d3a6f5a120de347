// This file says how seldom the data-parallel replicas of a plan meet (relaxed_synchrony.cpp), for
// those that execute or count it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/methods/layers/layout.h"
#include "core/plan/plan.h"

namespace trainyard {

enum class Sync : std::uint8_t { Bsp, LocalSgd, Easgd, Downpour, Hogwild };

inline constexpr std::string_view kSync = "sync";
inline constexpr std::string_view kSyncKind = "kind";  // its parameter
inline constexpr std::string_view kBsp = "bsp";

struct Synchrony {
  Sync how = Sync::Bsp;
  std::int64_t period = 1;      // steps from one exchange to the next
  double elasticity = 0;        // easgd: replicas x the share by which each moves to the centre
  bool averages_state = false;  // local-sgd: the optimizer's state is averaged with the weights
  std::int64_t replicas = 1;
  bool shuffled = false;  // served: replicas come to the server in another order each round
  bool divides = false;   // served: the server divides a change by its staleness
  friend bool operator==(const Synchrony&, const Synchrony&) = default;
  bool relaxed() const { return how != Sync::Bsp; }
  /// Returns whether replicas push changes to weights that nobody waits for.
  bool served() const { return how == Sync::Downpour || how == Sync::Hogwild; }
  /// Returns whether replicas meet once they have made so many updates.
  bool meets_after(std::int64_t updates) const { return updates % period == 0; }
  /// Returns the number of the exchange that follows so many updates, from 0.
  std::int64_t round_after(std::int64_t updates) const { return updates / period - 1; }
};
/// Replicas meet in every step where a complete plan has one replica or does not choose the method.
Synchrony synchrony_of(const Plan&);

/// Returns the elasticity from which on the mean of so many replicas and the centre swing about
/// each other ever more widely: their distance becomes 1 - (P + 1) / P x elasticity of what it was
/// with each exchange, so that the limit is 2 P / (P + 1).
double elasticity_limit(std::int64_t replicas);

/// Returns how many bytes of a parameter a replica exchanges where replicas meet: its weight, and
/// the optimizer's state where that is averaged too. Replicas that are served give and take them.
std::int64_t exchanged_bytes(const Synchrony&, const Layout&);
/// Returns what arrives of other replicas while the weights of a layer with so many trained
/// parameters are exchanged.
Bytes averaging_bytes(const Plan&, const Layout&, std::int64_t parameters);

}  // namespace trainyard
