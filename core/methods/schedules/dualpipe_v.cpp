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

Order order_dualpipe_v(const ScheduleShape& shape, const Params& params) {
  assert(shape.stages == 2 * shape.devices && "check() has refused the rest");
  const int p = shape.devices, n = std::max(shape.microbatches, 2 * p);
  const bool together = decide_pairs(shape, params, order_dualpipe_v).text("pairs") == "together";
  Order order;
  for (int d = 0; d < p; ++d) {
    const auto down = static_cast<std::uint32_t>(d);
    const StageId own{down}, other{static_cast<std::uint32_t>(shape.stages) - 1 - down};
    Lane lane{{down}, "compute"};
    lane.actions.reserve(6 * static_cast<std::size_t>(shape.microbatches));
    bool partner = false;  // whether the flows' action before this one is there
    for (const FlowAction& a : two_flows(p, d, n)) {
      const bool paired = together && a.paired && partner;
      partner = a.microbatch < shape.microbatches;
      if (partner)
        lane.actions.push_back({.phase = a.phase,
                                .stage = a.other ? other : own,
                                .microbatch = a.microbatch,
                                .paired = paired});
    }
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
                   "F&B a forward beside a backward, with 2p microbatches or more, and messages of "
                   "layers hidden by the other pass; where a pair's passes run in turn, the bubble "
                   "is no longer where W <= F <= B, and (s/2-1)F if F=B=W",
               .costs = "s + 1 of a stage's activations alive on a device, half a microbatch more "
                        "than on 1F1B's first; twice the sends",
               .legal_when = "virtual-stages is 2"},
      .file = "core/methods/schedules/dualpipe_v.cpp",
      .params = {pairs_param()},
      .check = [](const Scenario& s, const Params&) { return expect_chunks(s, "dualpipe-v", 2); },
      .placement = Placement::V,
      .order = order_dualpipe_v,
      .decide = [](const ScheduleShape& shape,
                   const Params& params) { return decide_pairs(shape, params, order_dualpipe_v); },
      .splits_backward = true,
  };
}

}  // namespace trainyard
