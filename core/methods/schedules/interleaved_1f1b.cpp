// In interleaved 1F1B each device holds v chunks of layers, where chunk c of device d is stage c p
// + d, and processes them in turns of p microbatches. A stage is 1/v as long, and so is the bubble;
// sends are v times as many.
//
//   p = 2, v = 2, m = 4; capitals are chunk 0, small letters chunk 1
//
//   d0  F0 F1 f0 f1 F2 b0 F3 b1 f2 B0 f3 B1    b2    b3 B2 B3
//   d1     F0 F1 f0 b0 f1 b1 F2 B0 F3 B1 f2 b2 f3 b3 B2 B3
//
// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM", SC 2021.
#include <algorithm>
#include <cassert>

#include "core/methods/catalogue.h"
#include "core/methods/orders/closed_form.h"

namespace trainyard {
namespace {

Order order_interleaved_1f1b(const ScheduleShape& shape, const Params&) {
  const int p = shape.devices, v = shape.stages / p, n = shape.microbatches * v;
  assert(shape.stages == v * p && shape.microbatches % p == 0 && "check() has refused the rest");
  Order order;
  for (int d = 0; d < p; ++d) {
    Lane lane{{static_cast<std::uint32_t>(d)}, "compute"};
    // The k-th forward and the k-th backward of a device process p microbatches of one chunk, then
    // of the next.
    const auto add = [&](Phase phase, int chunk, int k) {
      lane.actions.push_back(
          {phase, {static_cast<std::uint32_t>(chunk * p + d)}, k / (p * v) * p + k % p});
    };
    const auto forward = [&](int k) { add(Phase::Forward, k / p % v, k); };
    const auto backward = [&](int k) { add(Phase::Backward, v - 1 - k / p % v, k); };

    const int warmup = std::min(n, 2 * (p - d - 1) + (v - 1) * p);
    for (int k = 0; k < warmup; ++k) forward(k);                        // fill
    for (int k = warmup; k < n; ++k) forward(k), backward(k - warmup);  // one F, one B
    for (int k = n - warmup; k < n; ++k) backward(k);                   // drain
    order.lanes.push_back(std::move(lane));
  }
  return order;
}

Diagnostics check_interleaved_1f1b(const Scenario& scenario, const Params&) {
  const Plan& plan = scenario.plan;
  Diagnostics found;
  if (plan.virtual_stages < 2)
    found.push_back(
        {Diagnostic::Severity::Error,
         "interleaved needs at least 2 virtual stages per device, and virtual-stages is " +
             std::to_string(plan.virtual_stages),
         {"plan#/virtual_stages"},
         "virtual-stages=2"});
  const std::int64_t p = plan.mesh.pp, m = microbatches(plan);
  if (m % p != 0)
    found.push_back(
        {Diagnostic::Severity::Error,
         "interleaved works in turns of pp=" + std::to_string(p) + " microbatches, and " +
             std::to_string(m) + " do not divide into them",
         {"plan#/batch/global"},
         "global-batch=" + std::to_string((m / p + 1) * p * plan.batch.micro * *plan.mesh.dp)});
  return found;
}

}  // namespace

Method interleaved_1f1b() {
  return {
      .name = "interleaved",
      .axis = MethodAxis::Schedule,
      .summary = "1F1B over several chunks of layers per device: a shorter bubble for more sends.",
      .paper = {"Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM",
                "Narayanan et al.", "SC", 2021},
      .card = {.gains = "the bubble divided by v, the virtual stages of a device",
               .costs =
                   "v times the sends between stages, and 1 + (p-1)/(pv) of 1F1B's activations",
               .legal_when =
                   "virtual-stages is at least 2 and the microbatches are a multiple of pp"},
      .file = "core/methods/schedules/interleaved_1f1b.cpp",
      .check = check_interleaved_1f1b,
      .order = order_interleaved_1f1b,
      .closed_form = interleaved_closed_form,
  };
}

}  // namespace trainyard
