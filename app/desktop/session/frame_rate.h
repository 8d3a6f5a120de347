// How many frames a second a picture gets while it moves.
#pragma once

#include <cmath>

#include "core/base/units.h"

namespace trainyard {

class FrameRate {
 public:
  /// A frame at `now`, on any clock that does not go back. After a second without one it counts
  /// anew: nobody looked, or nothing moved.
  void tick(Duration now) {
    using std::chrono::seconds;
    if (frames_ < 0 || now - last_ > seconds(1)) {
      first_ = now, frames_ = 0;
    } else {
      ++frames_;
    }
    last_ = now;
    if (now - first_ < seconds(1)) return;
    rate_ = static_cast<int>(std::lround(frames_ / to_seconds(now - first_)));
    first_ = now, frames_ = 0;
  }
  /// Of the last whole second that was counted; 0 before there was one.
  int per_second() const { return rate_; }

 private:
  int frames_ = -1, rate_ = 0;  // since first_; -1: there was none
  Duration first_{}, last_{};
};

}  // namespace trainyard
