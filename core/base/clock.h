// Code that needs the time of day is handed a Clock& and never reads the system's clock itself, so
// that tests can set the time.
#pragma once

#include "core/base/units.h"

namespace trainyard {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Returns the time since an arbitrary start. It never goes back, and the call does not block.
  virtual Instant now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

/// A clock that stands still until a test moves it.
class ManualClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void advance(Duration d) { now_ += d; }

 private:
  Instant now_{0};
};

}  // namespace trainyard
