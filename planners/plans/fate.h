// What became of a plan that a search tried: one word, and a number for its distance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "planners/plans/plan_space.h"

namespace trainyard {

/// In the order in which a search finds out.
enum class Fate : std::uint8_t {
  Untried,    // the search was stopped before it
  Layers,     // illegal: layers do not divide into the stages
  Heads,      // illegal: attention heads, widths or experts do not divide over ranks
  Batch,      // illegal: microbatches do not divide the global batch
  Sequence,   // illegal: tokens do not divide over ranks
  Devices,    // illegal: degrees do not divide the devices
  Schedule,   // illegal: the schedule's own conditions
  Method,     // illegal: another method's conditions, or the framework's
  Memory,     // does not fit
  Dominated,  // a plan of the front is no slower and no larger
  Front,      // no plan is faster and smaller
  Best,       // of the front, first by the objective
};
inline constexpr std::size_t kFates = static_cast<std::size_t>(Fate::Best) + 1;
std::string_view to_string(Fate);  // "memory"
constexpr bool legal(Fate fate) { return fate >= Fate::Memory; }
constexpr bool fits(Fate fate) { return fate >= Fate::Dominated; }

/// What is known of one plan after a search: 24 bytes, kept for every plan.
struct PricedPlan {
  Duration step{};           // of the closed form; 0 for an illegal plan
  Bytes memory{};            // reserved on the fullest device; 0 for an illegal plan
  std::uint16_t device = 0;  // that one, of the pipeline
  Fate fate = Fate::Untried;
  bool bound = false;  // step (and under Memory, memory) is what it takes at least: more was
                       // not worth finding out
  friend bool operator==(const PricedPlan&, const PricedPlan&) = default;
};

/// The reason in words, found by pricing the plan alone and exactly.
struct Reason {
  Fate fate = Fate::Untried;
  std::string sentence;  // "does not fit: 3.1 GiB over on stage 7", "8.0 % slower than #1 ..."
  std::string field;     // plan#/split: of an illegal plan
  std::string fix;       // words of --set that mend it; empty when none is known
  double distance = 0;   // Memory: bytes over; Dominated: share by which it is slower; illegal: 0
};

}  // namespace trainyard
