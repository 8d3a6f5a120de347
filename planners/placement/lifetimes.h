// Jobs whose starts and ends are fixed, moved between nodes: the load of each node over all time is
// at hand, so that a move costs as much as the job's lifetime is long.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "planners/placement/cluster_state.h"

namespace trainyard {

class Lifetimes {
 public:
  /// Rejected jobs stay rejected. Trace and rules must outlive it.
  Lifetimes(const JobTrace&, const PlacementRules&, const PlacementSchedule&);

  /// Places all jobs again, the largest first, each where the node's highest load during its life
  /// is then lowest. Returns false where one fits nowhere; the object is then of no use.
  bool place_anew();
  /// Moves jobs from where the peak is to other nodes, or exchanges two, while the peak or the
  /// number of places that have it falls. Returns the number of moves that were looked at.
  std::int64_t lower_peak(const std::stop_token&);
  PlacementSchedule schedule() const;

 private:
  // Both are paired from the start of the later one until the earlier of their ends.
  struct Pair {
    int earlier = 0, later = 0;
    std::size_t first = 0, last = 0;  // segments [first, last)
  };
  struct Life {
    std::size_t first = 0, last = 0;  // segments [first, last)
    int node = -1;
    std::vector<Pair> pairs;
  };
  struct Trial {
    bool fits = false;
    std::int64_t peak = 0;  // of the node while the job runs
    std::vector<Pair> pairs;
  };

  Trial try_on(int job, int node);
  void put(int job, int node, const std::vector<Pair>&);
  // Returns the pairs that it had.
  std::vector<Pair> take(int job);
  std::vector<Pair> pairs_on(int job, int node) const;
  bool overlaps_pair(const Life&, std::size_t first, std::size_t last) const;
  bool improve(const std::stop_token&, std::int64_t& looked_at);
  void change(int node, std::size_t first, std::size_t last, std::int64_t bytes,
              std::int64_t devices);

  const JobTrace* trace_;
  const PlacementRules* rules_;
  std::vector<PlacedJob> starts_;
  std::vector<Life> lives_;
  std::vector<std::vector<std::int64_t>> bytes_, devices_;  // of a node in a segment
  std::vector<std::vector<int>> on_;                        // jobs of a node
};

}  // namespace trainyard
