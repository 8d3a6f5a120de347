// ZB-H1 is 1F1B whose weight gradients fill the bubble of the drain, at 1F1B's memory. Other stages
// wait only for the input gradient; the weight gradient of microbatch i follows the input gradient
// of i + s on stage s, and the rest come at the end.
//
//   d0  F0 F1 F2 F3          I0 W0 I1 W1 I2 W2 I3 W3      p = 4, m = 4, F = B = W
//   d1     F0 F1 F2       I0 F3 I1 W0 I2 W1 I3 W2 W3
//   d2        F0 F1    I0 F2 I1 F3 I2 W0 I3 W1 W2 W3
//   d3           F0 I0 F1 I1 F2 I2 F3 I3 W0 W1 W2 W3
//
// Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024.
#include "core/methods/catalogue.h"
#include "core/methods/orders/schedule_check.h"
#include "core/methods/orders/zero_bubble.h"

namespace trainyard {

Method zb_h1() {
  return {
      .name = "zb-h1",
      .axis = MethodAxis::Schedule,
      .summary = "1F1B with a split backward: weight gradients fill the bubble of the drain.",
      .paper = {"Zero Bubble Pipeline Parallelism", "Qi et al.", "ICLR", 2024},
      .card = {.gains = "a bubble of (p-1)(F+B-W) instead of (p-1)(F+B+W), if W <= B and with p "
                        "microbatches or more, at 1F1B's largest memory",
               .costs = "p microbatches alive on every stage, not p - s: an activation stays until "
                        "its weight gradient is done",
               .legal_when = "virtual-stages is 1"},
      .file = "core/methods/schedules/zb_h1.cpp",
      .check = [](const Scenario& s, const Params&) { return expect_chunks(s, "zb-h1", 1); },
      .order = [](const ScheduleShape& shape,
                  const Params&) { return zero_bubble_order(shape, 1); },
      .splits_backward = true,
  };
}

}  // namespace trainyard
