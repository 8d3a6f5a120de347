// A loss scale keeps small fp16 gradients from vanishing: the loss is multiplied by it, the update
// divides it out (Micikevicius et al., "Mixed Precision Training", ICLR 2018).
#pragma once

#include <cstdint>

#include "core/training/training.h"

namespace trainyard {

/// A dynamic loss scale: halves (after `hysteresis` of them) on overflow, which skips the update,
/// and doubles after `window` updates without one, which also refills the hysteresis (DeepSpeed's
/// rule). A window of 0 leaves the scale as it is; overflow still skips.
class LossScaler {
 public:
  explicit LossScaler(const Training&);
  double scale() const { return state_.scale; }
  /// Whether the update may be applied.
  bool update(bool overflow);
  std::int64_t skipped() const { return state_.skipped; }

  struct State {
    double scale = 1;
    std::int64_t since = 0;  // updates since the last overflow or doubling
    std::int64_t skipped = 0;
    int hysteresis = 0;  // overflows left before it halves
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
