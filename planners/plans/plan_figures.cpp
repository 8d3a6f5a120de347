#include "planners/plans/plan_figures.h"

#include <algorithm>

#include "core/cluster/with_count.h"
#include "core/estimate/estimate.h"
#include "core/memory/process_bytes.h"
#include "core/methods/settings/settings.h"
#include "core/model/open_sizes.h"

namespace trainyard {

PlanFigures figures_of(const Workload& workload, const CostModel& cost) {
  const StepEstimate step = estimate_step(workload, cost);
  const std::size_t worst = least_room(workload, step.reserved);
  const Plan& plan = workload.scenario.plan;
  PlanFigures found;
  found.step = step.step;
  found.categories = step.memory[worst];
  found.peak = total(found.categories);
  found.reserved = step.reserved[worst];
  found.worst = DeviceId{static_cast<std::uint32_t>(worst)};
  found.margin = capacities(workload)[worst] - found.reserved;
  found.fits = found.margin.value >= 0;
  found.work = static_cast<double>(plan.batch.global);
  if (workload.scenario.model.tokens) found.work *= tokens_of_sample(workload.layout.binding);
  found.breakdown = step.breakdown;
  return found;
}

PlanFigures figures_of(const Scenario& scenario, const CostOf& cost) {
  return figures_of(prepare(scenario), *cost(scenario));
}

Scenario with_devices(Scenario scenario, std::int64_t devices) {
  scenario.cluster = with_count(scenario.cluster, devices);
  return scenario;
}

void apply_each(Plan& plan, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0) apply_setting(plan, words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

}  // namespace trainyard
