// This file gives the order in which a device processes two flows of microbatches that pass it in
// opposite directions: DualPipe's two pipelines, or the two legs of DualPipeV. DeepSeek-AI,
// "DeepSeek-V3 Technical Report", 2024.
#pragma once

#include <cstdint>
#include <vector>

#include "core/methods/method.h"
#include "core/program/order.h"

namespace trainyard {

struct FlowAction {
  Phase phase = Phase::Forward;
  bool other = false;           // of the flow that comes from the far end, else of the near flow
  std::int32_t microbatch = 0;  // index within the flow
  bool paired = false;          // a backward that may run together with the forward before it
};

/// Returns the actions of the device that is `place` devices from the flow's entry, of `places`
/// devices up to where the flows meet, with `microbatches` >= 2 * places in each flow.
std::vector<FlowAction> two_flows(int places, int place, int microbatches);

/// The parameter of both schedules: whether pairs run together.
ParamSpec pairs_param();
/// Decides where that is left to the schedule: pairs run together if the step is shorter with the
/// times of the shape. What a pair hides has a price, because both of its actions begin when what
/// both need is there.
Params decide_pairs(const ScheduleShape&, const Params&,
                    Order (*order)(const ScheduleShape&, const Params&));

}  // namespace trainyard
