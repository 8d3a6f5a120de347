// Placement by somebody who knows all jobs that will come and how long each runs: what no policy
// can beat, and what an imitation is measured against (FirePlace: hindsight imitation for
// short-lived virtual machines).
#pragma once

#include <cstdint>
#include <stop_token>

#include "planners/placement/placement_figures.h"

namespace trainyard {

struct Hindsight {
  PlacementSchedule schedule;
  PlacementCost cost;
  bool exact = false;           // nothing that the rules allow costs less
  std::int64_t states = 0;      // that the search looked at
  std::int64_t peak_bound = 0;  // bytes; see peak_bound()
};

/// No schedule that starts every job when it arrives has a lower peak, in bytes: at every instant
/// some node holds at least the mean over nodes of what the running jobs hold, and some node holds
/// the largest job. A job counts with its peak; where jobs may be paired, with the mean of its
/// wave, since two waves together hold the sum of their means at some instant, whatever their
/// offset.
std::int64_t peak_bound(const JobTrace&, const PlacementRules&);

/// Branch and bound over every place, partner and wait of every job, in the order of arrival. It
/// starts from the better of the online policies. After `most_states` it returns the best it has,
/// with `exact` false. Throws Error{Cancelled} when stopped.
Hindsight exact_hindsight(const JobTrace&, const PlacementRules&,
                          std::int64_t most_states = 2'000'000, const std::stop_token& = {});

/// The least that the jobs from that one on cost, when those before it are placed as the state has
/// them: the peak counts from the beginning. Time grows exponentially with the jobs left.
PlacementCost least_cost_from(const ClusterState&, int job, const std::stop_token& = {});

/// Local search for traces of any length: starts from each online policy and from jobs placed by
/// falling size with all lifetimes known, and moves or exchanges jobs that run where the peak is,
/// as long as the peak falls. Starts of jobs stay. Never worse than any of `others`, schedules of
/// the same trace, or of the online policies. `exact` where no job may wait, none is rejected and
/// the peak is `peak_bound`: jobs that wait may lower the peak below that bound.
Hindsight searched_hindsight(const JobTrace&, const PlacementRules&,
                             const std::vector<PlacementSchedule>& others = {},
                             const std::stop_token& = {});

}  // namespace trainyard
