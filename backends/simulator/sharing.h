// Sharing: who gets how much of a device or link that several instructions use at once. Each one
// alone could fill a share u of the resource; together they run at rate min(1, 1 / sum of u), so
// two waves gain what one leaves unfilled and nothing when u = 1 (processor sharing, see Wang et
// al., "Wavelet", MLSys 2021, for why it decides Tick-Tock).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"

namespace trainyard {

/// One device's compute, or one port.
class SharedResource {
 public:
  struct Finish {
    InstructionId instruction;
    Instant at{};
  };

  /// Nothing runs here: a start now needs no sharing, as long as nothing joins it.
  bool idle() const { return running_.empty(); }
  /// Starts an instruction that needs `alone` by itself.
  void start(InstructionId, Duration alone, double fill, Instant now);
  /// Removes a finished one.
  void finish(InstructionId, Instant now);
  /// When each of those that run here ends if nothing joins or leaves; every earlier forecast is
  /// void after a start or finish.
  void forecast(Instant now, std::vector<Finish>& into);
  std::size_t running() const { return running_.size(); }

 private:
  struct Running {
    InstructionId instruction;
    double left;  // nanoseconds of work at full rate
    double fill;
    Instant exact_end;  // where it ends if it is never slowed
    bool slowed;
  };
  void settle(Instant now);

  std::vector<Running> running_;
  Instant settled_{};
  double rate_ = 1.0;
};

}  // namespace trainyard
