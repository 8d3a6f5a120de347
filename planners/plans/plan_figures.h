// PlanFigures are the few closed-form results by which plans are compared.
#pragma once

#include "core/estimate/assumptions.h"
#include "core/lowering/lower.h"
#include "core/timeline/metrics.h"

namespace trainyard {

struct PlanFigures {
  Duration step{};
  Bytes peak{}, reserved{};    // of the device with the least room
  CategoryBytes categories{};  // categories of that peak
  DeviceId worst;
  Bytes margin{};  // capacity minus reserved; negative = over
  bool fits = true;
  double work = 0;      // tokens per step, or samples if the model has no tokens
  Breakdown breakdown;  // of the device that computes longest; sums to step
  Bytes capacity() const { return reserved + margin; }             // of that device
  double time_of_work() const { return to_seconds(step) / work; }  // seconds per token (or sample)
};

/// The figures are those of estimate(). Throws Error{InvalidInput} or Error{Unsupported} as it
/// does.
PlanFigures figures_of(const Scenario&, const CostOf&);
PlanFigures figures_of(const Workload&, const CostModel&);

/// The scenario on `devices` devices of its cluster's kind. Throws Error{InvalidInput} if they do
/// not fill whole nodes, or if the cluster's topology fixes its device count.
Scenario with_devices(Scenario, std::int64_t devices);

/// Applies settings in the form in which fixes are written, such as "tp=4 pp=2", in order. Throws
/// as apply_setting() does.
void apply_each(Plan&, std::string_view words);

}  // namespace trainyard
