// A policy that learned from hindsight where to place a job, and sees only the present.
//
// Learning looks back at traces that are over. At each arrival of a training trace it tries every
// place, lets the jobs that came next follow by the best simple policy, and notes how much higher
// the peak became than with the best place. Gradient-boosted trees learn that regret from what was
// known at the arrival; the policy takes the place for which they expect least. It is supervised
// learning for placement and changes nothing of how a model is trained.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "planners/placement/cluster_state.h"

namespace trainyard {

enum class Foreknowledge : std::uint8_t {
  None,       // of a running job its kind and its age
  Durations,  // when each running job ends, and how long the new one will run
};

class PlacementImitation {
 public:
  /// Learns from whole traces under those rules; there must be at least one, all of the same kinds.
  /// Deterministic. Throws Error{Cancelled} when stopped.
  PlacementImitation(const std::vector<JobTrace>&, const PlacementRules&, Foreknowledge,
                     const std::stop_token& = {});
  ~PlacementImitation();
  PlacementImitation(PlacementImitation&&) noexcept;
  PlacementImitation& operator=(PlacementImitation&&) noexcept;

  /// A ChoosePlacement for the rules that it learned under. *this must outlive its use.
  std::optional<std::size_t> operator()(const ClusterState&, int job,
                                        const std::vector<PlacementOption>&) const;
  /// Arrivals with several places that it learned from.
  std::int64_t decisions() const;

 private:
  struct Learned;
  std::unique_ptr<Learned> learned_;
};

}  // namespace trainyard
