// What the closed form says of one plan, in the few figures that plans are told apart by.
#pragma once

#include "core/estimate/assumptions.h"
#include "core/lowering/lower.h"
#include "core/timeline/metrics.h"

namespace trainyard {

struct PlanFigures {
  Duration step{};
  Bytes peak{}, reserved{};    // of the device that has most reserved
  CategoryBytes categories{};  // of its peak
  DeviceId worst;
  Bytes margin{};  // capacity less reserved; negative = over
  bool fits = true;
  double work = 0;      // tokens of one step, or samples of a model that has none
  Breakdown breakdown;  // of the device that computes longest; sums to step
  double time_of_work() const { return to_seconds(step) / work; }  // seconds a token (a sample)
};

/// The same figures as estimate() has. Throws Error{InvalidInput} or Error{Unsupported} as it does.
PlanFigures figures_of(const Scenario&, const CostOf&);
PlanFigures figures_of(const Workload&, const CostModel&);

/// The scenario on so many devices of its cluster's kind. Throws Error{InvalidInput} where they do
/// not fill whole nodes, or the cluster's topology is of its own count.
Scenario with_devices(Scenario, std::int64_t devices);

/// "tp=4 pp=2", as fixes are written, applied in order. Throws as apply_setting() does.
void apply_each(Plan&, std::string_view words);

}  // namespace trainyard
