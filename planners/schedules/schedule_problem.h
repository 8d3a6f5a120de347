// A ScheduleProblem is a pipeline whose passes are to be ordered: the times and bytes of each stage
// and the memory limit of each device. The ScheduleObjective says what makes one order better.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/plan/placement.h"

namespace trainyard {

/// The times and bytes of one microbatch on one virtual stage.
struct StageCost {
  Duration forward{}, backward_input{}, backward_weight{};
  Bytes until_input{};   // held from the start of its forward to the end of its input gradient
  Bytes until_weight{};  // held from the start of its forward to the end of its weight gradient
};

struct ScheduleProblem {
  int devices = 1, microbatches = 1;
  Placement placement = Placement::Cyclic;  // Cyclic or V
  std::vector<StageCost> stages;            // their number is a multiple of devices
  Duration transfer{};                      // of one message between two devices; 0 within a device
  // The memory limit of each device for what its microbatches hold; empty = no limit.
  std::vector<Bytes> limits;
  bool split_backward = true;  // false: the input and weight gradients are one action
};

/// The figure to minimise. Makespan is the time up to a barrier of all devices. Span is the longest
/// time of any one device; it determines the bubble if every device updates its weights as soon as
/// it has finished, without a barrier (as in ZB-H2).
enum class ScheduleObjective : std::uint8_t { Makespan, Span };

}  // namespace trainyard
