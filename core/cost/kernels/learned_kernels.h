// Prices of kernels at shapes that nobody measured, learned from those that were: boosted trees
// predict by what factor a kernel is slower than a formula says, from its sizes, how well these
// fill vectors and tiles, what the kernel before it touched, and the formula's own price. Kaufman
// et al. ("A learned performance model for TPUs", 2021) and Phothilimthana et al. ("TpuGraphs",
// 2023) learn the times themselves, of graphs, from far more measurements than one machine makes in
// a minute.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/cost/kernels/boosted_trees.h"
#include "core/cost/kernels/kernel_timing.h"

namespace trainyard {

/// A LearnedPrice is what a kernel takes, and how far off that may be: nine in ten prices of shapes
/// that training did not see were within a factor of exp(off) of the measurement.
struct LearnedPrice {
  double seconds = 0;
  double off = 0;       // natural logarithm of a factor
  bool beyond = false;  // whether a size lies outside of what was measured of this kernel
};

/// It is immutable, and any thread may ask it.
class LearnedKernels {
 public:
  /// The formula says in seconds, above 0, what a kernel takes without measurements.
  using Formula = std::function<double(const Work&)>;

  /// Trains on one thread, five times on four fifths of the shapes each and once on all. There must
  /// be at least kLeastShapes timings. A time counts as a nanosecond at least. The formula is not
  /// kept.
  LearnedKernels(std::span<const KernelTiming>, const Formula&);
  static constexpr std::size_t kLeastShapes = 20;

  /// Returns whether some shape of this kernel in this format was measured; others have no price
  /// here.
  bool knows(const Work&) const;
  /// `formula` is what the formula says of each work, in seconds. All works must be known.
  std::vector<LearnedPrice> prices(std::span<const Work>, std::span<const double> formula) const;
  LearnedPrice price(const Work&, double formula) const;

  /// Returns in seconds what trees that did not see this timing, nor another of its sizes, say of
  /// it.
  double held_out(std::size_t timing) const { return held_out_.at(timing); }

 private:
  struct Family {
    std::vector<double> least, most;  // of each size of a kernel, as a logarithm of 2
    double off = 0;
  };

  std::unique_ptr<const BoostedTrees> trees_;
  std::map<KernelKind, Family> families_;
  std::vector<double> held_out_;
};

/// Returns the trees of these timings; equal timings and formulas are learned once in a process.
std::shared_ptr<const LearnedKernels> learn_kernels(std::span<const KernelTiming>,
                                                    const LearnedKernels::Formula&);

}  // namespace trainyard
