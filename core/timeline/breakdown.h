// A Breakdown says where the time of a step went, by cause.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// A Breakdown divides one device's step; its parts sum to the window exactly. Communication counts
/// only where it is exposed, that is, where the device does not compute beside it.
struct Breakdown {
  Duration forward{}, backward{}, recompute{}, optimizer{};
  Duration tensor_parallel{}, context_parallel{}, expert_parallel{}, pipeline{}, data_parallel{};
  Duration bubble{};
  Duration host{};  // data is copied to or from the host or updated there, and nothing else runs
  Duration allocator{};  // time that an allocator with nearly full memory needs to free memory and
                         // ask for it again
  Duration input{};      // samples are not there yet, and the step does not begin
  Duration slower{};     // what a device computes takes as long as on the slowest of those that
                         // wait for it
  Duration exposed_communication() const {
    return tensor_parallel + context_parallel + expert_parallel + pipeline + data_parallel;
  }
  Duration sum() const {
    return forward + backward + recompute + optimizer + exposed_communication() + bubble + host +
           allocator + input + slower;
  }
};

/// Moves from computation to `slower` what a device computes longer because it takes `times` as
/// long as one of the median; nothing where it takes no longer.
void part_slower(Breakdown&, double times);

/// Returns the parts of a breakdown with their names, in order; they sum to Breakdown::sum().
struct NamedPart {
  std::string_view name;
  Duration Breakdown::* part;
};
const std::vector<NamedPart>& breakdown_parts();

}  // namespace trainyard
