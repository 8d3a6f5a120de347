// A dragonfly joins groups of routers: every two routers of a group have a link, every two groups
// have equally many, and a message goes over at most one of the latter. Kim, Dally, Scott, Abts,
// "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard {

struct Dragonfly {
  std::int64_t groups = 2, routers = 1;  // routers of a group
  std::int64_t links = 1;                // of each router to other groups

  std::int64_t all_routers() const { return groups * routers; }
  /// Links between each two groups; whole where the dragonfly is one.
  std::int64_t between_groups() const { return routers * links / (groups - 1); }
};

/// The end of a link between groups: the place of a link at a router, counted over all routers.
struct DragonflyPort {
  std::int64_t router = 0, link = 0;
  friend bool operator==(const DragonflyPort&, const DragonflyPort&) = default;
};

/// Returns whether it has at least 2 groups, 1 router and 1 link, and its links to other groups
/// divide evenly between them.
bool is_dragonfly(const Dragonfly&);
/// Returns where link `which` of those between two groups begins in the first one, with 0 <= which
/// < between_groups(). The same link the other way has the same number.
DragonflyPort dragonfly_port(const Dragonfly&, std::int64_t from_group, std::int64_t to_group,
                             std::int64_t which);

}  // namespace trainyard
