#include "core/network/dragonfly.h"

namespace trainyard {

bool is_dragonfly(const Dragonfly& d) {
  return d.groups >= 2 && d.routers >= 1 && d.links >= 1 &&
         d.routers * d.links % (d.groups - 1) == 0;
}

// The links of a group are dealt to the groups after it, round after round, and to its routers in
// equal runs.
DragonflyPort dragonfly_port(const Dragonfly& d, std::int64_t from_group, std::int64_t to_group,
                             std::int64_t which) {
  const std::int64_t ahead = (to_group - from_group + d.groups) % d.groups;
  const std::int64_t link = which * (d.groups - 1) + ahead - 1;
  return {from_group * d.routers + link / d.links, link % d.links};
}

}  // namespace trainyard
