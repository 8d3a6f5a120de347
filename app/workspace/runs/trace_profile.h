// Turns a recording of a run into prices for other plans on the same devices, and says what they
// change for the plan that was recorded.
#pragma once

#include <stop_token>

#include "core/plan/plan.h"
#include "core/timeline/recorded_trace.h"
#include "core/validation/recorded/trace_prices.h"

namespace trainyard {

struct TraceProfile {
  TracePrices prices;
  Duration before{}, after{};  // predicted step of the recorded plan without and with them
};
/// Blocks while it simulates the plan twice. `memory` is a snapshot of the same run; null: none.
/// Throws as prices_of_trace() and run_once() do.
TraceProfile trace_profile(const RecordedTrace&, const Scenario& recorded,
                           const std::stop_token& = {}, const MemorySnapshot* memory = nullptr);

}  // namespace trainyard
