// A Breakdown says where the time of a step went, by cause.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// Where one device's step went; the parts sum to the window exactly. Communication counts only
/// where no compute of the device runs beside it (exposed).
struct Breakdown {
  Duration forward{}, backward{}, recompute{}, optimizer{};
  Duration tensor_parallel{}, context_parallel{}, expert_parallel{}, pipeline{}, data_parallel{};
  Duration bubble{};
  Duration host{};  // what the host keeps is under way, or updated there, and nothing else runs
  Duration allocator{};  // memory nearly full: what its allocator frees and asks for again
  Duration exposed_communication() const {
    return tensor_parallel + context_parallel + expert_parallel + pipeline + data_parallel;
  }
  Duration sum() const {
    return forward + backward + recompute + optimizer + exposed_communication() + bubble + host +
           allocator;
  }
};

/// The parts of a breakdown with their names, in order; they sum to Breakdown::sum().
struct NamedPart {
  std::string_view name;
  Duration Breakdown::* part;
};
const std::vector<NamedPart>& breakdown_parts();

}  // namespace trainyard
