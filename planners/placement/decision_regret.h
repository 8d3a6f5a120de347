// The part of hindsight's lead that nobody can learn, measured at single decisions.
#pragma once

#include <cstdint>
#include <stop_token>

#include "planners/placement/job_trace.h"

namespace trainyard {

/// At a decision every place is tried against many futures that are drawn independently of the
/// past, each played to its end by an exact hindsight. A policy must choose one place for all
/// futures; hindsight chooses one for each. The difference,
///
///   min over places of the mean over futures - mean over futures of the min over places,
///
/// is lost by any policy that sees the present alone, whatever it learned, even if an oracle took
/// over right after. The first term is a least of means over few futures, which is too low in the
/// mean, so that the measured loss is a lower bound in the mean.
struct DecisionRegret {
  int decisions = 0, futures = 0;  // futures of each decision
  int with_loss = 0;               // decisions at which the best place depends on the future
  double loss = 0;                 // mean over decisions, as a share of hindsight's mean peak, >= 0
  double largest = 0;              // of any decision
};

inline constexpr int kRegretNodes = 3, kRegretPast = 8, kRegretFuture = 6;
/// Decisions of traces with kRegretNodes nodes: after kRegretPast jobs placed on the least loaded
/// node, and with kRegretFuture jobs behind. Rejected jobs would hide peaks: nodes have no limit of
/// bytes here.
DecisionRegret decision_regret(TraceQuestion, bool pairs, int decisions = 12, int futures = 24,
                               const std::stop_token& = {});

}  // namespace trainyard
