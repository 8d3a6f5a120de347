// FLOW2 is a randomised direct search that begins where evaluations are cheap and walks in steps
// that shrink as improvements become rare, so that it seldom tries points much more expensive than
// the best it knows (Wu, Wang and Huang, "Frugal Optimization for Cost-related Hyperparameters",
// AAAI 2021; Wang et al., "FLAML", MLSys 2021).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"

namespace trainyard {

/// One dimension of a space, closed: low <= value <= high.
struct Dimension {
  enum class Kind : std::uint8_t { Real, Integer };
  std::string name;
  double low = 0, high = 1;
  Kind kind = Kind::Real;
  bool log = false;  // equal steps are equal ratios; requires low > 0
  double start = 0;  // where an evaluation is cheap; in [low, high]
};
using SearchPoint = std::vector<double>;  // one value per dimension, whole if its kind is Integer

/// Throws Error{InvalidInput}, naming the dimension, for inconsistent bounds, scales or starts.
void check_space(const std::vector<Dimension>&);
/// normalised() maps a value from [low, high] to its place in [0, 1]; value_at() maps it back,
/// rounded and within bounds.
double normalised(const Dimension&, double value);
double value_at(const Dimension&, double place);

/// How good a point is. A point without a loss (it does not fit, or is not legal) is worse than any
/// with one; of two points without a loss, the one with the smaller violation is better.
struct Loss {
  std::optional<double> value;
  double violation = 0;
  friend bool operator<(const Loss& a, const Loss& b) {
    if (a.value && b.value) return *a.value < *b.value;
    return a.value.has_value() != b.value.has_value() ? a.value.has_value()
                                                      : a.violation < b.violation;
  }
};

/// One walk of the search. Calls of propose() and told() alternate. The walk is determined by the
/// random numbers it is given.
class Flow2 {
 public:
  /// Begins at the dimensions' starts. The space must be one that check_space() accepts.
  Flow2(const std::vector<Dimension>&, Random);
  /// Begins at a place in [0, 1]^d.
  Flow2(const std::vector<Dimension>&, std::vector<double> place, Random);

  /// The next point to evaluate: first the start, then the best point so far plus a step in a
  /// random direction and, if that was no better, minus the same step.
  SearchPoint propose();
  /// Reports the loss of the proposal. The walk moves there if it is better. After 2^min(9, d)
  /// proposals that were not, the step shrinks by sqrt(K_old / K), with K the evaluations so far
  /// and K_old those at the last shrinking (or, before the first one, when the best was found).
  void told(const Loss&);

  /// Returns whether the step is shorter than the grid of the dimensions at the best point (1e-4 of
  /// a dimension if all are real).
  bool converged() const { return space_.empty() ? told_ > 0 : step_ < least_step(); }
  double step() const { return step_; }
  const SearchPoint& best() const { return best_; }
  const Loss& best_loss() const { return best_loss_; }

 private:
  double least_step() const;
  std::vector<double> direction();

  std::vector<Dimension> space_;
  Random random_;
  std::uint64_t drawn_ = 0;
  std::vector<double> place_;       // place of the best point
  std::vector<double> proposal_;    // place of the proposal
  std::vector<double> other_side_;  // place to try next if this step fails; empty = none
  SearchPoint best_;
  Loss best_loss_{std::nullopt, 1e300};
  double step_ = 0;
  std::int64_t told_ = 0, worse_ = 0, found_at_ = 0, shrunk_at_ = 0;
};

}  // namespace trainyard
