#include "core/cluster/processor_core.h"

#include <algorithm>

#include "core/cluster/local_device.h"

namespace trainyard {

bool is_processor(const Device& device) {
  const bool named = device.id.starts_with("cpu-") || device.id.starts_with("xeon-");
  return is_local_core(device) || (named && device.units > 0);
}

Device core_of(const Device& device, int busy) {
  Device core = device;
  if (is_local_core(device)) return core;
  core.id = "core of " + device.id;
  core.units = 1;
  for (Peak& peak : core.peaks) peak.rate.value.value /= device.units;
  core.memory_bandwidth.value.value /= std::max(1, busy);
  return core;
}

}  // namespace trainyard
