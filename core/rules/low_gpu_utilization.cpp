// LowGPUUtilization: a device that mostly stands idle, or in some steps.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_idle(const Params& params, const TimelineFacts& facts, FiredRules& fired) {
  const double high = params.number("threshold"), low = params.number("fluctuation");
  for (const DeviceTimes& d : facts.devices) {
    if (d.busy.empty()) continue;
    const double p95 = share_of_steps(d, 0.95), p5 = share_of_steps(d, 0.05);
    if (100 * p95 < high)
      fired.push_back(fired_on(d.device, d.name, 100 * p95, high,
                               fmt::format("{} computes or communicates in {} of a step, less than "
                                           "{:g} %",
                                           d.name, readable_share(p95), high)));
    else if (100 * p5 < low)
      fired.push_back(
          fired_on(d.device, d.name, 100 * p5, low,
                   fmt::format("{} computes or communicates in {} of most steps, but in "
                               "{} of some, less than {:g} %",
                               d.name, readable_share(p95), readable_share(p5), low)));
  }
}

}  // namespace

const Rule& low_gpu_utilization() {
  static const Rule made = {
      .name = "low-gpu-utilization",
      .summary = "a device works in a small part of its steps (95th percentile), or of some (5th)",
      .advice =
          "more microbatches a step, another schedule or fewer stages; where samples are "
          "waited for, a faster input",
      .reads = RuleReads::Timeline,
      .params = {{"threshold", 70.0, "least share of a step, 95th percentile of steps, in %", 0,
                  100},
                 {"fluctuation", 10.0, "least share of a step, 5th percentile of steps, in %", 0,
                  100}},
      .of_timeline = find_idle};
  return made;
}

}  // namespace trainyard
