#include <string>

#include "core/lowering/lowering.h"

namespace trainyard {

void make_streams(Lowering& l) {
  const std::vector<Lane>& order = l.order.lanes;
  l.lanes.resize(order.size());
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(l.workload.scenario.plan.mesh.pp); ++d) {
    const DeviceId device{d};
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i].device == device)
        l.lanes[i].stream = l.draft.stream(device, order[i].name, true, order[i].delay);
    bool first = true;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i].device == device) {
        const std::string which = first ? "" : " " + order[i].name;
        l.lanes[i].to = {l.draft.stream(device, "comm" + which, false),
                         l.draft.stream(device, "gather" + which, false),
                         l.draft.stream(device, "reduce" + which, false)};
        first = false;
      }
    l.transfers.add_streams(device);
    if (l.workload.layout.host_optimizer || l.workload.layout.host_activations)
      l.host.add_streams(device);
  }
}

}  // namespace trainyard
