// V-Min is the V of ZB-V with the shortest building block, where every hop takes one slot, so that
// a device keeps a third of 1F1B's activations. Where the number of devices is divisible by three,
// forwards and backwards would fall on the same slot; a longer turn at the loss keeps them apart.
//
// Qi et al., "Pipeline Parallelism with Controllable Memory", NeurIPS 2024.
#include "core/methods/catalogue.h"
#include "core/methods/orders/building_block.h"
#include "core/methods/orders/schedule_check.h"

namespace trainyard {
namespace {

Order order_v_min(const ScheduleShape& shape, const Params&) {
  return repeat({.loss = shape.devices % 3 == 0 ? 3 : 1}, shape);
}

}  // namespace

Method v_min() {
  return {
      .name = "v-min",
      .axis = MethodAxis::Schedule,
      .summary = "Two chunks per device in a V: a third of 1F1B's activations.",
      .paper = {"Pipeline Parallelism with Controllable Memory", "Qi et al.", "NeurIPS", 2024},
      .card = {.gains = "a third of 1F1B's activations, ceil((p+2)/3) of p microbatches on each "
                        "device, and two thirds of its bubble if F=B=W",
               .costs = "twice the sends; where F, B and W differ every microbatch waits for its "
                        "neighbours, so that the bubble grows with their number",
               .legal_when = "virtual-stages is 2"},
      .file = "core/methods/schedules/v_min.cpp",
      .check = [](const Scenario& s, const Params&) { return expect_chunks(s, "v-min", 2); },
      .placement = Placement::V,
      .order = order_v_min,
      .splits_backward = true,
  };
}

}  // namespace trainyard
