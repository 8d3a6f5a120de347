#include "app/workspace/scenario/offset_peaks.h"

#include <string>
#include <utility>

#include "app/workspace/scenario/run_once.h"
#include "core/methods/schedules/wave_offset.h"
#include "core/methods/settings/settings.h"
#include "visualizers/drawing/in_parallel.h"

namespace trainyard {
namespace {

constexpr std::size_t kSteps = 24;  // between 0 and a whole cycle

}  // namespace

Scenario at_wave_offset(Scenario scenario, double share) {
  apply_setting(scenario.plan, "tick-tock.policy", "custom");
  apply_setting(scenario.plan, "tick-tock.offset", to_text(ParamValue{share}));
  return scenario;
}

std::shared_ptr<const OffsetPeaks> offset_peaks(const Scenario& scenario, Grain grain,
                                                const CostModel* cost, std::stop_token stop) {
  if (!states_wave_offset(scenario.plan)) return nullptr;
  auto peaks = std::make_shared<OffsetPeaks>(kSteps + 1);
  in_parallel(peaks->size(), [&](std::size_t i) {
    const double share = static_cast<double>(i) / static_cast<double>(kSteps);
    const auto experiment =
        run_once(at_wave_offset(scenario, share), {.grain = grain, .cost = cost, .stop = stop});
    (*peaks)[i] = {share, worst_peak(experiment->result)};
  });
  return peaks;
}

}  // namespace trainyard
