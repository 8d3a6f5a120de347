#include "app/workspace/runs/trace_profile.h"

#include <memory>

#include "app/workspace/scenario/priced_scenario.h"
#include "app/workspace/scenario/run_once.h"

namespace trainyard {

TraceProfile trace_profile(const RecordedTrace& trace, const Scenario& recorded,
                           const std::stop_token& stop, const MemorySnapshot* memory) {
  TraceProfile profile;
  const std::unique_ptr<CostModel> base = cost_model(recorded);
  const auto step = [&](const Scenario& scenario, const CostModel& cost) {
    OnceOptions options;
    options.grain = natural_grain(scenario), options.cost = &cost, options.stop = stop;
    return run_once(scenario, options)->result.step.value;
  };
  profile.before = step(recorded, *base);
  profile.prices = prices_of_trace(trace, prepare(recorded), *base, memory);
  Scenario scenario = recorded;
  const std::unique_ptr<CostModel> own = priced_by(profile.prices.calibration, scenario);
  profile.after = step(scenario, *own);
  return profile;
}

}  // namespace trainyard
