// DualPipeV is DualPipe's order on a V, with the upper half of the devices folded onto the lower
// half: the flow down the first chunks and the flow back up the second chunks pass each device in
// opposite directions.
//
// DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024; the fold is by Sea AI Lab ("Cut-in-half").
#include <algorithm>
#include <cassert>

#include "core/methods/catalogue.h"
#include "core/methods/orders/schedule_check.h"
#include "core/methods/orders/two_flows.h"

namespace trainyard {
namespace {

Order order_dualpipe_v(const ScheduleShape& shape, const Params&) {
  assert(shape.stages == 2 * shape.devices && "check() has refused the rest");
  const int p = shape.devices, n = std::max(shape.microbatches, 2 * p);
  Order order;
  for (int d = 0; d < p; ++d) {
    const auto down = static_cast<std::uint32_t>(d);
    const StageId own{down}, other{static_cast<std::uint32_t>(shape.stages) - 1 - down};
    Lane lane{{down}, "compute"};
    lane.actions.reserve(6 * static_cast<std::size_t>(shape.microbatches));
    for (const FlowAction& a : two_flows(p, d, n))
      if (a.microbatch < shape.microbatches)
        lane.actions.push_back({a.phase, a.other ? other : own, a.microbatch});
    order.lanes.push_back(std::move(lane));
  }
  return order;
}

}  // namespace

Method dualpipe_v() {
  return {
      .name = "dualpipe-v",
      .axis = MethodAxis::Schedule,
      .summary = "DualPipe folded into a V: its order without a second copy of the weights.",
      .paper = {"DeepSeek-V3 Technical Report", "DeepSeek-AI", "arXiv", 2024},
      .card = {.gains =
                   "with s = 2p stages a bubble of (s/2-1)(F&B + B_full - 3W) in times of a stage, "
                   "F&B a forward beside a backward, with 2p microbatches or more; run one after "
                   "the other here, it is no longer where W <= F <= B, and (s/2-1)F if F=B=W",
               .costs = "s + 1 of a stage's activations alive on a device, half a microbatch more "
                        "than on 1F1B's first; twice the sends",
               .legal_when = "virtual-stages is 2"},
      .file = "core/methods/schedules/dualpipe_v.cpp",
      .check = [](const Scenario& s, const Params&) { return expect_chunks(s, "dualpipe-v", 2); },
      .placement = Placement::V,
      .order = order_dualpipe_v,
      .splits_backward = true,
  };
}

}  // namespace trainyard
