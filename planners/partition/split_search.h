// A SplitSearch tries splits of one workload's layers with the closed form and keeps the best of
// those offered and of their variations in which a layer or two are moved.
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

  /// The search begins with the workload's own split. Workload and cost model must outlive it; each
  /// split that is tried replaces the workload's split.
  SplitSearch(Workload&, const CostModel&);

  /// Offers the split, and variations in which the stages between the first and the last are
  /// reordered: the shorter ones in front, at the end, or evenly spread.
  void offer_arrangements(const StageSplit&);
  /// Moves single layers for as long as a move improves the split; gives up after kMostTried
  /// splits.
  void improve(const PricedChain&, const SplitShape&);

  const Tried& best() const { return best_; }
  int estimated() const { return static_cast<int>(tried_.size()); }

 private:
  static constexpr std::size_t kMostTried = 64;
  bool offer(const StageSplit&);

  Workload& w_;
  const CostModel& cost_;
  bool counts_layers_ = false;  // whether recomputation depends on the layers of each stage
  std::set<std::vector<int>> tried_;
  Tried best_;
};

/// The time per microbatch of each device, summed over all its stages.
std::vector<Duration> device_loads(const PricedChain&, const SplitShape&, const StageSplit&);
/// The split with one layer moved from one stage to another; the stages between them each hand one
/// layer on.
StageSplit moved(const StageSplit&, std::size_t from, std::size_t to);
/// Returns whether every stage has a layer, or else the block at its end of the chain.
bool is_legal(const PricedChain&, const StageSplit&);

}  // namespace trainyard
