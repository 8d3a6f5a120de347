// In DualPipe microbatches enter at both ends of the pipeline and each device holds the stages of
// both directions. In the middle of the step, one forward of one direction runs together with one
// backward of the other: while one waits for messages inside its layers (all-to-all of experts,
// all-reduce of tensor ranks), the other computes. The first half of the microbatches goes down,
// the second half comes up.
//
// DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024.
#include <algorithm>
#include <cassert>

#include "core/methods/catalogue.h"
#include "core/methods/orders/schedule_check.h"
#include "core/methods/orders/two_flows.h"

namespace trainyard {
namespace {

Order order_dualpipe(const ScheduleShape& shape, const Params& params) {
  assert(shape.stages == shape.devices && shape.devices % 2 == 0 && "check() has refused the rest");
  const int p = shape.devices, down = (shape.microbatches + 1) / 2, up = shape.microbatches - down;
  const int n = std::max(down, p);
  const bool together = decide_pairs(shape, params, order_dualpipe).text("pairs") == "together";
  Order order;
  for (int d = 0; d < p; ++d) {
    Lane lane{{static_cast<std::uint32_t>(d)}, "compute"};
    lane.actions.reserve(3 * static_cast<std::size_t>(shape.microbatches));
    const bool lower = d < p / 2;
    bool partner = false;  // whether the flows' action before this one is there
    for (const FlowAction& a : two_flows(p / 2, std::min(d, p - 1 - d), n)) {
      const bool comes_up = a.other == lower;
      const bool there = a.microbatch < (comes_up ? up : down);
      const bool paired = together && a.paired && partner;
      partner = there;
      if (!there) continue;
      const int stage = comes_up ? p - 1 - d : d;
      lane.actions.push_back({.phase = a.phase,
                              .stage = {static_cast<std::uint32_t>(stage)},
                              .microbatch = comes_up ? down + a.microbatch : a.microbatch,
                              .wave = static_cast<std::int16_t>(comes_up),
                              .paired = paired});
    }
    order.lanes.push_back(std::move(lane));
  }
  return order;
}

Diagnostics check_dualpipe(const Scenario& scenario, const Params&) {
  Diagnostics found = expect_chunks(scenario, "dualpipe", 1);
  for (Diagnostic& d : expect_even_devices(scenario, "dualpipe")) found.push_back(std::move(d));
  return found;
}

}  // namespace

Method dualpipe() {
  return {
      .name = "dualpipe",
      .axis = MethodAxis::Schedule,
      .summary = "Two pipelines against each other, forwards of one beside backwards of the other.",
      .paper = {"DeepSeek-V3 Technical Report", "DeepSeek-AI", "arXiv", 2024},
      .card = {.gains =
                   "a bubble of (p/2-1)(F&B + B_full - 3W), F&B a forward beside a backward, "
                   "with an even number of microbatches from 2p on, and messages of layers "
                   "hidden by the other pass; where a pair's passes run in turn, the bubble is "
                   "no longer where W <= F <= B, and (p/2-1)F if F=B=W",
               .costs = "every device holds the weights of two stages; p + 1 microbatches alive",
               .legal_when = "virtual-stages is 1 and pp is even"},
      .file = "core/methods/schedules/dualpipe.cpp",
      .params = {pairs_param()},
      .check = check_dualpipe,
      .placement = Placement::Bidirectional,
      .order = order_dualpipe,
      .decide = [](const ScheduleShape& shape,
                   const Params& params) { return decide_pairs(shape, params, order_dualpipe); },
      .splits_backward = true,
  };
}

}  // namespace trainyard
