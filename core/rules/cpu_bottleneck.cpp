// CPUBottleneck: devices that stand idle while processors of their host work.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_host(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  const double limit = params.number("threshold");
  for (const DeviceTimes& d : facts.devices)
    if (100 * d.host_wait > limit)
      fired.push_back(fired_on(
          d.device, d.name, 100 * d.host_wait, limit,
          fmt::format("{} waits in {} of a step for its host, which updates weights or copies "
                      "them, more than {:g} %",
                      d.name, readable_share(d.host_wait), limit)));
}

}  // namespace

const Rule& cpu_bottleneck() {
  static const Rule made = {
      .name = "cpu-bottleneck",
      .summary = "a device waits for its host in a large part of its steps",
      .advice =
          "updates on the device (offload=none), a larger batch between two updates, or a host "
          "with "
          "more cores and faster memory",
      .reads = RuleReads::Timeline,
      .params = {{"threshold", 50.0, "most share of a step in which a device waits so, in %", 0,
                  100}},
      .of_timeline = find_host};
  return made;
}

}  // namespace trainyard
