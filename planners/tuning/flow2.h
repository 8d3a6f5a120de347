// FLOW2: randomised direct search that begins where evaluations are cheap and walks in steps whose
// length shrinks as improvements become rare, so that it seldom tries what is much dearer than the
// best it knows (Wu, Wang and Huang, "Frugal Optimization for Cost-related Hyperparameters", AAAI
// 2021; Wang et al., "FLAML", MLSys 2021).
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
  bool log = false;  // equal steps are equal ratios; low > 0
  double start = 0;  // where an evaluation is cheap; from low to high
};
using SearchPoint = std::vector<double>;  // a value a dimension, whole where its kind is Integer

/// Throws Error{InvalidInput} for bounds, scales and starts that make no sense, naming the
/// dimension.
void check_space(const std::vector<Dimension>&);
/// The place of a value between low and high, [0, 1], and back, rounded and within bounds.
double normalised(const Dimension&, double value);
double value_at(const Dimension&, double place);

/// How good a point is. One that has no loss (it does not fit, it is not legal) is worse than all
/// that have one; of two of those the one with the smaller violation is better.
struct Loss {
  std::optional<double> value;
  double violation = 0;
  friend bool operator<(const Loss& a, const Loss& b) {
    if (a.value && b.value) return *a.value < *b.value;
    return a.value.has_value() != b.value.has_value() ? a.value.has_value()
                                                      : a.violation < b.violation;
  }
};

/// One walk. propose() and told() take turns. Deterministic by the random numbers it is given.
class Flow2 {
 public:
  /// Begins at the dimensions' starts. The space must be one that check_space() accepts.
  Flow2(const std::vector<Dimension>&, Random);
  /// Begins at a place of [0, 1]^d.
  Flow2(const std::vector<Dimension>&, std::vector<double> place, Random);

  /// First the start; then the best so far plus a step of random direction, and where that was no
  /// better, minus it.
  SearchPoint propose();
  /// What became of the proposal. Moves there when it is better; after 2^min(9, d) that were not,
  /// the step shrinks by sqrt(K_old / K), K the evaluations so far and K_old those at the last
  /// shrinking (at first: when the best was found).
  void told(const Loss&);

  /// Whether steps have become shorter than the grid that the dimensions have at the best point
  /// (1e-4 of a dimension where all are real).
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
  std::vector<double> place_;       // of the best
  std::vector<double> proposal_;    // place
  std::vector<double> other_side_;  // the step whose opposite comes next; empty = none
  bool forward_ = false;            // the proposal is a first step, not its opposite
  SearchPoint best_;
  Loss best_loss_{std::nullopt, 1e300};
  double step_ = 0;
  std::int64_t told_ = 0, worse_ = 0, found_at_ = 0, shrunk_at_ = 0;
};

}  // namespace trainyard
