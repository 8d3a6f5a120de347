// ZB-H2 runs twice as many forwards before the first backward as 1F1B, so that no device waits
// between its first and its last pass. The schedule is a parallelogram: each device is one forward
// later than the one before.
//
//   d0  F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3         p = 2, m = 4, F = B = W
//   d1     F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
//
// The gain exists only where each device updates its weights as soon as it has finished. With a
// barrier over all devices before the update, as a global gradient norm is, the step takes (p-1) F
// longer than the ideal. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024.
#include "core/methods/catalogue.h"
#include "core/methods/orders/schedule_check.h"
#include "core/methods/orders/zero_bubble.h"

namespace trainyard {

Method zb_h2() {
  return {
      .name = "zb-h2",
      .axis = MethodAxis::Schedule,
      .summary = "ZB-H1 with twice the warm-up: no device waits once it has begun, if F=B=W.",
      .paper = {"Zero Bubble Pipeline Parallelism", "Qi et al.", "ICLR", 2024},
      .card = {.gains = "a device idles (p-1)(F+B-2W) between its first and last pass, if W <= B "
                        "and 2W <= F+B and with 2p - 1 microbatches or more: nothing if F=B=W",
               .costs = "2p - 1 microbatches alive on every stage; with one update of all devices "
                        "at the end the step still exceeds the ideal by (p-1)F, so the gain needs "
                        "updates stage by stage, without a global norm before them",
               .legal_when = "virtual-stages is 1"},
      .file = "core/methods/schedules/zb_h2.cpp",
      .check = [](const Scenario& s, const Params&) { return expect_chunks(s, "zb-h2", 1); },
      .order = [](const ScheduleShape& shape,
                  const Params&) { return zero_bubble_order(shape, 2); },
      .splits_backward = true,
  };
}

}  // namespace trainyard
