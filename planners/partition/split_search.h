// Splits of one workload's layers, tried by the closed form: the best of those offered, and of
// those that a layer or two moved make of it.
#pragma once

#include <set>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "planners/partition/priced_chain.h"

namespace trainyard {

class SplitSearch {
 public:
  struct Tried {
    StageSplit split;
    Duration step{};
    Bytes missing{};
  };

  /// Begins with the workload's own split. Workload and cost model must outlive it; the workload's
  /// split changes with every split that is tried.
  SplitSearch(Workload&, const CostModel&);

  /// The split, and its stages between first and last in other orders: shorter ones in front, at
  /// the end, or spread.
  void offer_arrangements(const StageSplit&);
  /// Moves single layers for as long as one makes it better, and gives up after kMostTried splits.
  void improve(const PricedChain&, const SplitShape&);

  const Tried& best() const { return best_; }
  int estimated() const { return static_cast<int>(tried_.size()); }

 private:
  static constexpr std::size_t kMostTried = 64;
  bool offer(const StageSplit&);

  Workload& w_;
  const CostModel& cost_;
  bool counts_layers_ = false;  // recomputation does, of stages
  std::set<std::vector<int>> tried_;
  Tried best_;
};

/// Time per microbatch of each device, of all its stages.
std::vector<Duration> device_loads(const PricedChain&, const SplitShape&, const StageSplit&);
/// The split with one layer taken from a stage and given to another, those between handing one on.
StageSplit moved(const StageSplit&, std::size_t from, std::size_t to);
/// Whether every stage has a layer, or what stands at its end of the chain.
bool is_legal(const PricedChain&, const StageSplit&);

}  // namespace trainyard
