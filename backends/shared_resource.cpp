#include "backends/shared_resource.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

void SharedResource::start(InstructionId instruction, Duration alone, double fill, Instant now) {
  settle(now);
  running_.push_back({instruction, static_cast<double>(alone.count()), fill, now + alone, true});
  forecast(now);
}

void SharedResource::finish(InstructionId instruction, Instant now) {
  settle(now);
  const auto done = std::find_if(running_.begin(), running_.end(),
                                 [&](const Running& r) { return r.instruction == instruction; });
  running_.erase(done);
  forecast(now);
}

void SharedResource::pace(double pace, Instant now) {
  settle(now);
  pace_ = pace;
  forecast(now);
}

// Takes off what was done since the last change, at the rate that held.
void SharedResource::settle(Instant now) {
  const double done = static_cast<double>((now - settled_).count()) * rate_;
  for (Running& r : running_) r.left = std::max(0.0, r.left - done);
  settled_ = now;
}

void SharedResource::forecast(Instant now) {
  double fill = 0;
  for (const Running& r : running_) fill += r.fill;
  rate_ = pace_ * (fill > 1.0 ? 1.0 / fill : 1.0);
  finishes_.clear();
  for (Running& r : running_) {
    // One that was never slowed ends on the nanosecond; a slowed one at the first whole one after
    // its work is done.
    r.undisturbed = r.undisturbed && rate_ == 1.0;
    const auto rest = Duration{static_cast<std::int64_t>(std::ceil(r.left / rate_ - 1e-6))};
    finishes_.push_back({r.instruction, r.undisturbed ? r.exact_end : now + rest});
  }
}

}  // namespace trainyard
