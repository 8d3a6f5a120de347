#include "core/training/loss_scaler.h"

#include <algorithm>

namespace trainyard {
namespace {

// Above this, doubling the scale would overflow fp32.
constexpr double kLargestScale = 0x1p120;

}  // namespace

LossScaler::LossScaler(const Training& training)
    : least_(training.least_scale),
      window_(training.scale_window),
      hysteresis_(training.hysteresis) {
  state_.scale = training.loss_scale;
  state_.hysteresis = hysteresis_;
}

bool LossScaler::update(bool overflow) {
  if (overflow) {
    ++state_.skipped;
    if (window_ == 0) return false;
    state_.since = 0;
    if (state_.hysteresis > 1)
      --state_.hysteresis;
    else
      state_.scale = std::max(state_.scale / 2, least_);
    return false;
  }
  if (window_ > 0 && ++state_.since >= window_) {
    state_.since = 0;
    state_.hysteresis = hysteresis_;
    state_.scale = std::min(state_.scale * 2, kLargestScale);
  }
  return true;
}

}  // namespace trainyard
