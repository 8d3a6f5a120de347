// Nodes and the jobs that run on them at one instant, and where the next job may start.
//
// The jobs of a node share all of its devices in time, spread evenly, so that devices and bytes of
// a node are sums over its jobs. Steps of different jobs drift against each other: in some step all
// peaks meet, and the sum is one of peaks. Two jobs that are paired keep their steps in time with
// each other (Tick-Tock) and hold at most paired_peak() together until one of them ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "planners/placement/job_trace.h"

namespace trainyard {

struct PlacementRules {
  PlacedNodes nodes;
  Duration patience{};  // a job that has not started so long after its arrival is rejected
  bool pairs = false;   // jobs may be paired
};

struct PlacementOption {
  int node = 0;
  int partner = -1;        // the running job that it is paired with; -1 = none
  std::int64_t bytes = 0;  // of the node, once it runs
};

struct Resident {
  int job = 0;
  Instant start{}, end{};
  int partner = -1;
};

struct NodeLoad {
  std::int64_t devices = 0, bytes = 0;  // taken
  std::vector<Resident> residents;      // in order of their start
};

class ClusterState {
 public:
  /// Both must outlive the state.
  ClusterState(const JobTrace&, const PlacementRules&);

  /// Places where the job may start now, by node, its partners in order of their start and no
  /// partner first. `best_partner`: one option a node, with the partner that saves most.
  std::vector<PlacementOption> options(int job, bool best_partner) const;
  /// Starts the job at now(), where options() says it may.
  void start(int job, const PlacementOption&);
  /// Lets time pass until then, and jobs end that end by then.
  void pass_until(Instant);

  Instant now() const { return now_; }
  /// Nothing where no job runs.
  std::optional<Instant> next_end() const;
  const std::vector<NodeLoad>& nodes() const { return nodes_; }
  /// The most bytes that a node held so far.
  std::int64_t peak() const { return peak_; }
  const JobTrace& trace() const { return *trace_; }
  const PlacementRules& rules() const { return *rules_; }

 private:
  const JobTrace* trace_;
  const PlacementRules* rules_;
  std::vector<NodeLoad> nodes_;
  Instant now_{};
  std::int64_t peak_ = 0;
};

/// Where and when a job runs.
struct PlacedJob {
  int node = -1;     // -1 = rejected
  int partner = -1;  // a job that runs when this one starts
  Instant start{};   // of a rejected job when it left
};
using PlacementSchedule = std::vector<PlacedJob>;  // one a job

/// Chooses one of the options, of which there is at least one; nothing = it waits for a job to end.
using ChoosePlacement = std::function<std::optional<std::size_t>(
    const ClusterState&, int job, const std::vector<PlacementOption>&)>;

/// Jobs start in order of arrival: one that fits nowhere waits, and all behind it wait too, until
/// jobs end or its patience does. This brings the state to where the job starts or is rejected.
PlacedJob dispatch(ClusterState&, int job, const ChoosePlacement&);
PlacementSchedule place_all(const JobTrace&, const PlacementRules&, const ChoosePlacement&);

}  // namespace trainyard
