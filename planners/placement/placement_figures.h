// The figures of a schedule of jobs on nodes, computed from where and when jobs run and nothing
// else.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "planners/placement/cluster_state.h"

namespace trainyard {

/// Bytes and devices of every node over time, between the starts and ends of jobs.
struct NodeProfile {
  std::vector<Instant> edges;                      // rising; segment i is [edges[i], edges[i + 1])
  std::vector<std::vector<std::int64_t>> bytes;    // of a node in a segment
  std::vector<std::vector<std::int64_t>> devices;  // likewise
};
NodeProfile node_profile(const JobTrace&, const PlacementRules&, const PlacementSchedule&);

/// Returns true where no node holds more than it has.
bool keeps_capacity(const NodeProfile&, const PlacementRules&);

struct PlacementFigures {
  std::int64_t peak = 0;    // bytes, of the most loaded node at its worst instant
  double peak_to_mean = 0;  // that peak against the mean over nodes and time of what unpaired jobs
                            // ask for at their peaks: the same denominator for every policy that
                            // rejects the same jobs
  double utilisation = 0;   // share of device-time in use until the last job ends
  Duration mean_wait{};     // of jobs that started
  Duration longest_wait{};
  std::int64_t rejected = 0;  // jobs
  double fragmentation = 0;   // mean over time of the share of free bytes that lie on nodes other
                              // than the emptiest, where a large job cannot use them: in
                              // [0, 1 - 1 / nodes]
};
PlacementFigures placement_figures(const JobTrace&, const PlacementRules&,
                                   const PlacementSchedule&);

/// Hindsight minimises these, the first that differs deciding: rejected jobs, peak, time waited.
struct PlacementCost {
  std::int64_t rejected = 0, peak = 0, waited = 0;
  friend auto operator<=>(const PlacementCost&, const PlacementCost&) = default;
};
PlacementCost placement_cost(const JobTrace&, const PlacementRules&, const PlacementSchedule&);

}  // namespace trainyard
