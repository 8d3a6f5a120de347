// V-Half is the V of ZB-V with a building block of half the length, so that a device keeps half of
// 1F1B's activations and has half of its bubble. The block's hops alternate between two slots and
// one; an even number of devices needs a longer turn at the loss to keep the passes apart.
//
// Qi et al., "Pipeline Parallelism with Controllable Memory", NeurIPS 2024.
#include "core/methods/catalogue.h"
#include "core/methods/orders/building_block.h"
#include "core/methods/orders/schedule_check.h"

namespace trainyard {
namespace {

Order order_v_half(const ScheduleShape& shape, const Params&) {
  RepeatedBlock block{.forward_down = 2, .forward_up = 1, .backward_down = 2, .backward_up = 1};
  if (shape.devices % 2 == 0) block.loss = 4;
  block.turn_backward = 2;
  return repeat_and_fill(block, shape);
}

}  // namespace

Method v_half() {
  return {
      .name = "v-half",
      .axis = MethodAxis::Schedule,
      .summary = "Two chunks per device in a V: half of 1F1B's activations and half of its bubble.",
      .paper = {"Pipeline Parallelism with Controllable Memory", "Qi et al.", "NeurIPS", 2024},
      .card = {.gains = "half of 1F1B's activations, floor(p/2)+1 of p microbatches on each "
                        "device, and half of its bubble if F=B=W",
               .costs = "twice the sends; where F, B and W differ the bubble grows to about 1.5 "
                        "(p-1)(F+B-W)",
               .legal_when = "virtual-stages is 2"},
      .file = "core/methods/schedules/v_half.cpp",
      .check = [](const Scenario& s, const Params&) { return expect_chunks(s, "v-half", 2); },
      .placement = Placement::V,
      .order = order_v_half,
      .splits_backward = true,
  };
}

}  // namespace trainyard
