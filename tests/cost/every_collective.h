// Every kind of collective, and any of them on any cluster, for properties that hold for all.
#pragma once

#include <rapidcheck.h>

#include "core/cluster/cluster.h"
#include "core/cluster/collective.h"

namespace trainyard::testing {

inline constexpr std::array kEveryCollective = kCollectiveKinds;

struct AnyCollective {
  CollectiveKind kind;
  Cluster cluster;
  GroupShape group;
  std::int64_t bytes, more;  // bytes <= more
};
inline AnyCollective any_collective() {
  const auto all = devices();
  const Device& d = all[*rc::gen::inRange<std::size_t>(0, all.size())];
  AnyCollective any;
  any.cluster = make_cluster(d, d.scale_up_domain * *rc::gen::element<std::int64_t>(1, 2, 4, 7));
  any.kind = kEveryCollective[*rc::gen::inRange<std::size_t>(0, std::size(kEveryCollective))];
  const auto per_node = *rc::gen::inRange<std::int64_t>(1, devices_per_node(any.cluster) + 1);
  any.group = {.ranks = per_node * nodes(any.cluster), .per_node = per_node};
  any.bytes = *rc::gen::inRange<std::int64_t>(0, 100'000'000'000);
  any.more = any.bytes + *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  return any;
}

}  // namespace trainyard::testing
