#include "planners/plans/exact_price.h"

#include <algorithm>

#include "core/estimate/estimate.h"
#include "core/exporters/framework_limits.h"
#include "core/memory/process_bytes.h"
#include "core/plan/stage_kinds.h"

namespace trainyard {
namespace {

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

}  // namespace

ExactPrice exact_price(Scenario scenario, const CostModel& cost) {
  ExactPrice price;
  try {
    Diagnostics found;
    const Workload w = prepare(std::move(scenario), found);
    for (Diagnostic& d : found)
      if (d.severity == Diagnostic::Severity::Error) price.errors.push_back(std::move(d));
    if (!price.errors.empty()) {
      price.illegal = illegal_fate(price.errors);
      return price;
    }
    price.errors = framework_refusals(w.scenario);
    if (!price.errors.empty()) {
      price.illegal = Fate::Method;
      return price;
    }
    const StepEstimate step = estimate_step(w, cost);
    price.step = step.step;
    price.device_time = step.device_time;
    price.device = static_cast<std::uint16_t>(least_room(w, step.reserved));
    price.memory = step.reserved[price.device];
  } catch (const Error& e) {  // such as a format without a peak, or a time that overflows
    price.errors.push_back({Diagnostic::Severity::Error, e.what(), e.place(), {}});
    price.illegal = illegal_fate(price.errors);
  }
  return price;
}

Fate illegal_fate(const Diagnostics& found) {
  const std::string& place = found.front().place.text;
  if (begins(place, "plan#/split")) return Fate::Layers;
  if (begins(place, "plan#/mesh/pp") || begins(place, "plan#/virtual_stages"))
    return found.front().message.find("layers") != std::string::npos ? Fate::Layers
                                                                     : Fate::Schedule;
  if (begins(place, "plan#/batch/sequence")) return Fate::Sequence;
  if (begins(place, "plan#/batch")) return Fate::Batch;
  if (begins(place, "plan#/mesh/cp")) return Fate::Sequence;
  if (begins(place, "plan#/mesh/tp") || begins(place, "plan#/mesh/ep") ||
      begins(place, "plan#/mesh/etp") || begins(place, "plan#/choices/tensor-parallel"))
    return Fate::Heads;
  if (begins(place, "plan#/mesh") || begins(place, "cluster")) return Fate::Devices;
  for (const std::string_view name : {"recompute", "zero", "overlap", "offload"})
    if (begins(place, std::string("plan#/choices/") + std::string(name))) return Fate::Method;
  return begins(place, "plan#/choices") ? Fate::Schedule : Fate::Method;
}

double step_money(const Cluster& cluster, Duration step) {
  const std::optional<double> low = mean_price(cluster, &Device::price_low),
                              high = mean_price(cluster, &Device::price_high);
  if (!low || !high) return 0;
  constexpr double kHour = 3600;
  return (*low + *high) / 2 * static_cast<double>(cluster.count) * to_seconds(step) / kHour;
}

Bytes memory_limit(const Cluster& cluster, Bytes spare) {
  return cluster.device.memory.value - spare;
}

Bytes memory_limit(const Scenario& s, std::uint16_t device, Bytes spare) {
  const std::size_t kind = kind_of_rank(s.cluster, s.plan.mesh, DeviceId{device});
  return device_of_kind(s.cluster, kind).memory.value - spare;
}

}  // namespace trainyard
