#include <string>

#include "core/lowering/lowering.h"

namespace trainyard {

void make_streams(Lowering& l) {
  const std::vector<Lane>& order = l.order.lanes;
  l.lanes.resize(order.size());
  l.paired.resize(order.size());
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(l.workload.scenario.plan.mesh.pp); ++d) {
    const DeviceId device{d};
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i].device == device)
        l.lanes[i].stream = l.draft.stream(device, order[i].name, true, order[i].delay);
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i].device == device && has_pairs(order[i])) {
        LaneState& paired = l.paired[i];
        paired.stream = l.draft.stream(device, order[i].name + " paired", true, order[i].delay);
        paired.to.comm = l.draft.stream(device, "comm paired", false);
        if (l.grain == Grain::Op) paired.to.gather = l.draft.stream(device, "gather paired", false);
      }
    bool first = true;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i].device == device) {
        const std::string which = first ? "" : " " + order[i].name;
        l.lanes[i].to = {l.draft.stream(device, "comm" + which, false),
                         l.draft.stream(device, "gather" + which, false),
                         l.draft.stream(device, "reduce" + which, false)};
        // One backward makes gradients at a time; and weights of whole actions arrive in their
        // order, while those of layers are wanted in turn.
        l.paired[i].to.reduce = l.lanes[i].to.reduce;
        if (l.grain == Grain::Order) l.paired[i].to.gather = l.lanes[i].to.gather;
        first = false;
      }
    l.transfers.add_streams(device);
    if (l.workload.layout.host_optimizer || l.workload.layout.host_activations)
      l.host.add_streams(device);
  }
}

}  // namespace trainyard
