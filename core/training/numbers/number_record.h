// A NumberRecord is what one run tells of its numbers: after some of its steps how weights,
// gradients and activations lie in the formats of its plan and how many updates rounding took back,
// and for every step the loss scale.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/training/numbers/number_window.h"

namespace trainyard {

enum class NumberClass : std::uint8_t {
  Weights,     // as the step read them; their master copy where they have one
  Gradients,   // of weights, summed over ranks and microbatches and freed of the loss scale
  Activations  // outputs of activation functions
};
inline constexpr std::size_t kNumberClasses = 3;
std::string_view to_string(NumberClass);  // "weights"

template <class T>
using ByNumberClass = std::array<T, kNumberClasses>;

/// SeenNumbers are what one step showed. Counts are those of all devices, each number once, however
/// a plan lays them out. Rows that pad a vocabulary are zeros, which a plan with more of them has
/// more of.
struct SeenNumbers {
  ByNumberClass<ExponentHistogram> histograms = {};
  CancelledCount updates = {};
};

struct NumberLook {
  std::int64_t step = 0;  // updates done, this one included
  double loss_scale = 0;  // of the step; 0 = losses are not scaled
  bool skipped = false;   // gradients had overflowed; then only activations were seen
  CancelledCount updates = {};
  ByNumberClass<NumberWindow> windows = {};  // where they lay over the numbers
  ByNumberClass<WindowCounts> counts = {};
};

/// A loss scale, and the first step that had it.
struct LossScaleChange {
  std::int64_t step = 0;
  double scale = 0;
};

inline constexpr std::int64_t kNumberInterval = 50;  // steps

class NumberRecord {
 public:
  /// interval: steps from one look to the next, >= 1.
  explicit NumberRecord(std::int64_t interval = kNumberInterval) : interval_(interval) {}

  std::int64_t interval() const { return interval_; }
  /// Says what follows: steps after so many, to this one, of a plan with such formats. Phases of
  /// one run begin one after another.
  void begin(std::int64_t first_step, std::int64_t last_step, ByNumberClass<NumberWindow> formats);
  /// Returns whether a step is looked at: the first one, every one whose number is a multiple of
  /// the interval, and the last.
  bool looks_at(std::int64_t step) const;
  /// Adds a step with its loss scale, 0 for none, and what was seen where it was looked at.
  void add(std::int64_t step, double loss_scale, bool skipped, const SeenNumbers* seen);
  /// Forgets the steps after so many updates, to which a run has gone back.
  void go_back(std::int64_t updates);

  const std::vector<NumberLook>& looks() const { return looks_; }
  const std::vector<LossScaleChange>& loss_scales() const { return loss_scales_; }
  std::int64_t last_step() const { return last_; }  // that was added
  /// The latest look that an overflow has not skipped, and its histograms; null before one.
  const NumberLook* shown() const { return shown_ < looks_.size() ? &looks_[shown_] : nullptr; }
  const ByNumberClass<ExponentHistogram>& histograms() const { return histograms_; }

 private:
  std::int64_t interval_, first_ = 0, end_ = 0, last_ = 0;
  ByNumberClass<NumberWindow> formats_ = {};
  std::vector<NumberLook> looks_ = {};
  std::vector<LossScaleChange> loss_scales_ = {};
  ByNumberClass<ExponentHistogram> histograms_ = {};
  std::size_t shown_ = SIZE_MAX;
};

}  // namespace trainyard
