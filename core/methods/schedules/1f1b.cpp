// In 1F1B a stage alternates one forward with one backward as soon as it has a backward to run, so
// that stage s of p keeps at most p - s microbatches alive. The bubble is GPipe's.
//
//   d0  F0 F1 F2 F3          B0 F4 B1 F5 B2    B3    B4    B5
//   d1     F0 F1 F2       B0 F3 B1 F4 B2 F5 B3    B4    B5
//   d2        F0 F1    B0 F2 B1 F3 B2 F4 B3 F5 B4    B5
//   d3           F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5
//
// Narayanan et al., "PipeDream", SOSP 2019; with a flush after every batch as in Fan et al.,
// "DAPPLE", PPoPP 2021, and Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM", SC 2021.
#include <algorithm>
#include <cassert>

#include "core/methods/catalogue.h"
#include "core/methods/orders/closed_form.h"

namespace trainyard {
namespace {

Order order_1f1b(const ScheduleShape& shape, const Params&) {
  assert(shape.stages == shape.devices && "check() has refused virtual stages");
  Order order;
  for (int d = 0; d < shape.devices; ++d) {
    const StageId stage{static_cast<std::uint32_t>(d)};
    Lane lane{{static_cast<std::uint32_t>(d)}, "compute"};
    const auto forward = [&](int m) { lane.actions.push_back({Phase::Forward, stage, m}); };
    const auto backward = [&](int m) { lane.actions.push_back({Phase::Backward, stage, m}); };

    const int n = shape.microbatches, warmup = std::min(n, shape.devices - 1 - d);
    for (int m = 0; m < warmup; ++m) forward(m);                        // fill
    for (int m = warmup; m < n; ++m) forward(m), backward(m - warmup);  // one F, one B
    for (int m = n - warmup; m < n; ++m) backward(m);                   // drain
    order.lanes.push_back(std::move(lane));
  }
  return order;
}

Diagnostics check_1f1b(const Scenario& scenario, const Params&) {
  if (scenario.plan.virtual_stages == 1) return {};
  return {{Diagnostic::Severity::Error,
           "1f1b has one stage per device, and virtual-stages is " +
               std::to_string(scenario.plan.virtual_stages) + "; interleaved runs several",
           {"plan#/virtual_stages"},
           "schedule=interleaved"}};
}

}  // namespace

Method one_f_one_b() {
  return {
      .name = "1f1b",
      .axis = MethodAxis::Schedule,
      .summary = "Alternates one forward with one backward once the pipeline is full.",
      .paper = {"PipeDream: Generalized Pipeline Parallelism for DNN Training", "Narayanan et al.",
                "SOSP", 2019},
      .card = {.gains = "at most p - s microbatches alive on stage s, however many a batch has",
               .costs = "GPipe's bubble, (p-1)/(m+p-1): it saves memory, not time",
               .legal_when = "virtual-stages is 1"},
      .file = "core/methods/schedules/1f1b.cpp",
      .check = check_1f1b,
      .order = order_1f1b,
      .closed_form = one_f_one_b_closed_form,
  };
}

}  // namespace trainyard
