// Time is handed in, never read: whoever needs the time of day takes a Clock&.
#pragma once

#include "core/base/units.h"

namespace trainyard {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Since an arbitrary start; never goes back. Does not block.
  virtual Instant now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

/// Stands still until a test moves it.
class ManualClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void advance(Duration d) { now_ += d; }

 private:
  Instant now_{0};
};

}  // namespace trainyard
