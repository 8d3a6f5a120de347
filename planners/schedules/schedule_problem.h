// A ScheduleProblem is a pipeline that wants an order of its passes: times and bytes of each stage
// and a memory limit of each device; the ScheduleObjective is what makes one order better.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/plan/placement.h"

namespace trainyard {

/// One virtual stage: times and bytes of one microbatch.
struct StageCost {
  Duration forward{}, backward_input{}, backward_weight{};
  Bytes until_input{};   // held from the start of its forward to the end of its input gradient
  Bytes until_weight{};  // held from the start of its forward to the end of its weight gradient
};

struct ScheduleProblem {
  int devices = 1, microbatches = 1;
  Placement placement = Placement::Cyclic;  // Cyclic or V
  std::vector<StageCost> stages;            // a multiple of devices
  Duration transfer{};                      // one message between two devices; none within one
  std::vector<Bytes> limits;   // of each device, for what its microbatches hold; empty = no limit
  bool split_backward = true;  // else input and weight gradient are one action
};

/// What is minimised. Span is the schedule's bubble where every device updates its weights as soon
/// as it has ended, without a barrier (ZB-H2's case); Makespan is up to a barrier of all devices.
enum class ScheduleObjective : std::uint8_t { Makespan, Span };

}  // namespace trainyard
