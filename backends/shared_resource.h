// A SharedResource says who gets how much of a device or link that several instructions use at
// once. Each one alone could fill a share u of the resource; together they run at rate
// min(1, 1 / sum of u), so two waves gain what one leaves unfilled and nothing when u = 1
// (processor sharing, see Wang et al., "Wavelet", MLSys 2021, for why it decides Tick-Tock).
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

  /// Starts an instruction that needs `alone` by itself. The finish times of all that run here, the
  /// new one included, are then those of finishes(): every earlier forecast is void.
  void start(InstructionId, Duration alone, double fill, Instant now);
  /// Removes a finished one; the others' finish times change likewise.
  void finish(InstructionId, Instant now);
  /// From now on everything here runs at that share of its rate, (0, 1]; finish times change
  /// likewise.
  void pace(double, Instant now);
  bool idle() const { return running_.empty(); }
  const std::vector<Finish>& finishes() const { return finishes_; }

 private:
  struct Running {
    InstructionId instruction;
    double left;  // nanoseconds of work at full rate
    double fill;
    Instant exact_end;  // valid while it has had the resource to itself all along
    bool undisturbed;
  };
  void settle(Instant now);
  void forecast(Instant now);

  std::vector<Running> running_;
  std::vector<Finish> finishes_;
  Instant settled_{};
  double rate_ = 1.0, pace_ = 1.0;
};

}  // namespace trainyard
