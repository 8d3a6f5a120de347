// BatchSize: devices that are neither busy nor full, so that a step could take more samples.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// Debugger also asks that processors of the hosts are not busy; a timeline says of them how long
// they keep a device waiting, which is no reason for a larger batch.
void find_room(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  const double limit = params.number("threshold");
  double busiest = 0, fullest = 0;
  for (const DeviceTimes& d : facts.devices) {
    if (d.busy.empty() || 100 * d.host_wait >= limit) return;
    busiest = std::max(busiest, share_of_steps(d, 0.95));
  }
  for (const DeviceBytes& m : facts.memory) {
    if (m.capacity.value == 0) return;
    fullest = std::max(fullest, m.most / m.capacity);
  }
  if (facts.devices.empty() || facts.memory.empty()) return;
  const double most = 100 * std::max(busiest, fullest);
  if (most < limit)
    fired.push_back(fired_on(
        -1, "batch", most, limit,
        fmt::format("no device works in more than {} of a step or fills more than {} of its "
                    "memory, both less than {:g} %",
                    readable_share(busiest), readable_share(fullest), limit)));
}

}  // namespace

const Rule& batch_size() {
  static const Rule made = {
      .name = "batch-size",
      .summary = "no device is busy and no memory is full, so that a step could take more samples",
      .advice = "a larger global batch or micro batch, or fewer devices",
      .reads = RuleReads::Timeline,
      .by_name = true,
      .params = {{"threshold", 70.0,
                  "share of a step (95th percentile of steps) and of the memory below which all "
                  "devices are, in %",
                  0, 100}},
      .of_timeline = find_room};
  return made;
}

}  // namespace trainyard
