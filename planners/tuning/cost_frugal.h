// Tunes several families of settings ("arms") at once and spends where the next improvement is
// cheapest: FLOW2 walks within an arm, and the Estimated Cost for Improvement chooses among arms
// (Wang et al., "FLAML: A Fast and Lightweight AutoML Library", MLSys 2021).
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <stop_token>

#include "planners/tuning/flow2.h"

namespace trainyard {

struct Arm {
  std::string name;
  std::vector<Dimension> space;
};

struct Evaluation {
  Loss loss;            // if present, its value is above 0
  double cost = 0;      // of this evaluation, >= 0; points without a loss cost too
  std::string why_not;  // why there is no loss
};
using EvaluatePoint = std::function<Evaluation(std::size_t arm, const SearchPoint&)>;

/// What is known of an arm, in units of cost, and what that predicts for its next improvement.
class ArmCost {
 public:
  void told(const Loss&, double cost);
  bool tried() const { return evaluations_ > 0; }
  std::int64_t evaluations() const { return evaluations_; }
  double spent() const { return spent_; }
  const std::optional<double>& best() const { return best_; }

  /// The cost of the next improvement of the arm's own best: as much as the last one took, or as
  /// has been spent since in vain.
  ///   ECI1 = max(found - found_before, spent - found)
  /// found and found_before: spent when the best, and the one before it, were found; 0 = never.
  double own_improvement() const;
  /// And of beating the best of all arms, where that is better, at the pace of its last
  /// improvement.
  ///   max(ECI1, 2 (best - best of all) / speed),
  ///   speed = (best_before - best) / (spent - found_before)
  /// Before there was a second best, best_before counts as twice the first. An arm without a loss
  /// so far is at ECI1.
  double improvement(const std::optional<double>& best_of_all) const;

 private:
  std::int64_t evaluations_ = 0;
  std::optional<double> best_;
  double best_before_ = 0, found_ = 0, found_before_ = 0, spent_ = 0;
};

struct Trial {
  std::size_t arm = 0;
  SearchPoint point;
  Evaluation evaluation;
  double spent = 0;     // on all arms so far, including this one
  bool better = false;  // than all trials before
  int walk = 0;         // number within its arm; 0 begins at the dimensions' starts
};

struct FrugalOptions {
  double most_cost = std::numeric_limits<double>::infinity();  // the last evaluation may exceed it
  std::int64_t most_evaluations = 1000;
  std::uint64_t seed = 0;
  std::stop_token stop = {};
  std::function<void(const Trial&)> progress = {};
  /// Called before an evaluation with the points of the arm that come next if none of them is
  /// better than what is known: the one that is evaluated now first, and at most `ahead` in all.
  /// Whoever evaluates may then do some of them at once. The search is the same with and without
  /// it.
  std::function<void(std::size_t arm, const std::vector<SearchPoint>&)> expects = {};
  std::int64_t ahead = 1;
};

struct FrugalSearch {
  std::vector<Trial> trials;        // evaluated points, each once
  std::optional<std::size_t> best;  // index into trials; empty if none has a loss
  std::vector<ArmCost> arms;
  bool exhausted = false;  // no point is left to try
  bool stopped = false;
};

/// Searches all arms for the least loss; blocks until it is done. An untried arm is assumed to cost
/// as much as the cheapest start so far. If the arm with the cheapest next improvement is untried,
/// it is tried first; among tried arms, one is drawn with a probability proportional to 1 /
/// improvement(). A walk that has converged restarts at a random place. Known points are not
/// evaluated again. Throws Error{InvalidInput} as check_space() does and if there are no arms, and
/// rethrows what `evaluate` throws.
FrugalSearch search(const std::vector<Arm>&, const EvaluatePoint&, const FrugalOptions& = {});
/// Spends the same budget on points drawn uniformly over all arms: the baseline that a search must
/// beat.
FrugalSearch random_search(const std::vector<Arm>&, const EvaluatePoint&,
                           const FrugalOptions& = {});

}  // namespace trainyard
