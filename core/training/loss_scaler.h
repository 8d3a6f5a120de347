// A loss scale keeps small fp16 gradients from vanishing: the loss is multiplied by it and the
// update divides by it (Micikevicius et al., "Mixed Precision Training", ICLR 2018).
#pragma once

#include <cstdint>

#include "core/training/training.h"

namespace trainyard {

/// A LossScaler is a dynamic loss scale. An overflow skips the update, and after `hysteresis`
/// overflows the scale halves. After `window` updates without overflow it doubles, which also
/// resets the hysteresis (DeepSpeed's rule). With a window of 0 the scale never changes; an
/// overflow still skips the update.
class LossScaler {
 public:
  explicit LossScaler(const Training&);
  double scale() const { return state_.scale; }
  /// Returns whether the update may be applied.
  bool update(bool overflow);
  std::int64_t skipped() const { return state_.skipped; }

  struct State {
    double scale = 1;
    std::int64_t since = 0;  // updates since the last overflow or doubling
    std::int64_t skipped = 0;
    int hysteresis = 0;  // overflows until the scale halves
    friend bool operator==(const State&, const State&) = default;
  };
  State state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  State state_;
  double least_;
  std::int64_t window_;
  int hysteresis_;
};

}  // namespace trainyard
