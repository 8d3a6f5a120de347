// A Fate is what became of a plan that a search tried; a Reason explains it in a sentence, with a
// number for how far the plan is from a better fate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "planners/plans/plan_space.h"

namespace trainyard {

/// Fates are listed in the order in which a search determines them.
enum class Fate : std::uint8_t {
  Untried,    // the search was stopped before it reached the plan
  Layers,     // illegal: layers do not divide into the stages
  Heads,      // illegal: attention heads, widths or experts do not divide over ranks
  Batch,      // illegal: microbatches do not divide the global batch
  Sequence,   // illegal: tokens do not divide over ranks
  Devices,    // illegal: degrees do not divide the devices
  Schedule,   // illegal: the schedule's own conditions
  Method,     // illegal: another method's conditions, or the framework's
  Memory,     // does not fit
  Dominated,  // a plan of the Pareto front is no slower and no larger
  Front,      // on the Pareto front: no plan is both faster and smaller
  Best,       // the plan of the front that is first by the objective
};
inline constexpr std::size_t kFates = static_cast<std::size_t>(Fate::Best) + 1;
std::string_view to_string(Fate);  // "memory"
constexpr bool legal(Fate fate) { return fate >= Fate::Memory; }
constexpr bool fits(Fate fate) { return fate >= Fate::Dominated; }

/// What is known of one plan after a search. It takes 24 bytes and is kept for every plan.
struct PricedPlan {
  Duration step{};           // of the closed form; 0 for an illegal plan
  Bytes memory{};            // reserved on the fullest device; 0 for an illegal plan
  std::uint16_t device = 0;  // the pipeline rank of that device
  Fate fate = Fate::Untried;
  // The step (and under Memory, the memory) is only a lower bound: a closer figure was not worth
  // computing.
  bool bound = false;
  friend bool operator==(const PricedPlan&, const PricedPlan&) = default;
};

/// Why a plan has its fate, found by pricing the plan alone and exactly.
struct Reason {
  Fate fate = Fate::Untried;
  std::string sentence;  // "does not fit: 3.1 GiB over on stage 7", "8.0 % slower than #1 ..."
  std::string field;     // plan#/split: the field at fault in an illegal plan
  std::string fix;       // settings, as --set takes them, that repair it; empty if none is known
  double distance = 0;   // Memory: bytes over the limit; Dominated: relative slowdown; illegal: 0
};

}  // namespace trainyard
