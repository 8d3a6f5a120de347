// A FrameRate counts the frames per second of a moving picture.
#pragma once

#include <cmath>

#include "core/base/units.h"

namespace trainyard {

class FrameRate {
 public:
  /// Counts a frame at `now`, on any monotonic clock. After a second without frames the count
  /// restarts, because nothing was shown or nothing moved.
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
  /// Frames in the last complete second; 0 before there is one.
  int per_second() const { return rate_; }

 private:
  int frames_ = -1, rate_ = 0;  // since first_; -1: not started
  Duration first_{}, last_{};
};

}  // namespace trainyard
