#include "core/cost/collectives/fabric.h"

#include <algorithm>
#include <vector>

namespace trainyard {
namespace {

// Returns how `ranks` devices, `stride` apart, lie in the torus; a single ring of all of them when
// they do not fill a box.
std::array<std::int64_t, 3> box_in_torus(const std::vector<int>& dimensions, std::int64_t ranks,
                                         std::int64_t stride) {
  std::array<std::int64_t, 3> box{1, 1, 1};
  std::int64_t left = ranks;
  for (std::size_t i = 0; i < dimensions.size() && i < box.size() && left > 1; ++i) {
    const std::int64_t extent = dimensions[i];
    if (stride >= extent && stride % extent == 0) {
      stride /= extent;
      continue;
    }
    const std::int64_t along = std::min(left, std::max<std::int64_t>(1, extent / stride));
    if (extent % stride != 0 || left % along != 0) return {ranks, 1, 1};
    box[i] = along;
    left /= along;
    stride = 1;
  }
  return left == 1 ? box : std::array<std::int64_t, 3>{ranks, 1, 1};
}

// A torus gives a group the links along the dimensions that it spans. An all-to-all gets what the
// narrowest cut lets through: n k D / (4 rate) for n bytes per rank, with D dimensions and k ranks
// along the longest.
void see_torus(Fabric& fabric, const Level& level, std::int64_t stride) {
  fabric.extents = box_in_torus(level.dimensions, fabric.ranks, stride);
  const double all = static_cast<double>(std::max<std::size_t>(1, level.dimensions.size()));
  const auto spanned =
      std::count_if(fabric.extents.begin(), fabric.extents.end(), [](auto e) { return e > 1; });
  const double longest =
      static_cast<double>(*std::max_element(fabric.extents.begin(), fabric.extents.end()));
  const double widening = all / static_cast<double>(std::max<std::ptrdiff_t>(1, spanned));
  fabric.reduce.beta *= widening;
  fabric.exchange.beta *= std::max(widening, longest * all / 4);
}

// A chain through all members leaves and enters a node once for each port that they drive; it is
// never faster than the links inside.
Fabric flatten(const Fabric& inner, const Fabric& outer) {
  Fabric flat = outer;
  flat.ranks = inner.ranks * outer.ranks;
  flat.topology = Topology::Switch;
  flat.pairs = false;  // in some steps all members of a node would send out of it at once
  flat.reduce.beta =
      std::max(inner.reduce.beta, outer.reduce.beta / static_cast<double>(inner.ranks));
  return flat;
}

}  // namespace

Fabric see(const Level& level, std::int64_t ranks, std::int64_t stride, const LinkShares& shares,
           bool latency) {
  Fabric fabric;
  fabric.ranks = ranks;
  fabric.topology = level.topology;
  fabric.pairs = level.topology != Topology::Mesh;
  fabric.reduces = level.reduces;
  double rate = level.bandwidth.value.value;
  if (level.topology == Topology::FatTree) rate /= level.oversubscription;
  if (level.topology == Topology::Mesh && level.size > ranks && ranks > 1)
    rate *= static_cast<double>(ranks - 1) / static_cast<double>(level.size - 1);
  const double alpha = latency ? to_seconds(level.latency.value) : 0;
  fabric.reduce = {.alpha = alpha, .beta = 1 / (rate * shares.scale_up)};
  fabric.exchange = {.alpha = alpha, .beta = 1 / (rate * shares.all_to_all)};
  if (level.topology == Topology::Torus) see_torus(fabric, level, stride);
  return fabric;
}

Spanning see_spanning(const GroupShape& shape, const Cluster& cluster, const LinkShares& shares,
                      bool latency) {
  const std::int64_t in_node = devices_per_node(cluster);
  const std::int64_t per_node = std::clamp<std::int64_t>(shape.per_node, 1, shape.ranks);
  const std::int64_t node_count = (shape.ranks + per_node - 1) / per_node;
  const LinkShares outside{shares.network, shares.network, shares.all_to_all};
  Spanning s;
  s.inner = see(cluster.levels.front(), per_node, shape.stride, shares, latency);
  s.outer = see(cluster.levels[spanned_level(shape, cluster)], node_count,
                std::max<std::int64_t>(1, shape.stride / in_node), outside, latency);
  // Each member drives its own port; ports are shared only if there are more groups than ports.
  const double crowd = std::max(
      1.0, static_cast<double>(shape.neighbours * per_node) / static_cast<double>(in_node));
  s.outer.reduce.beta *= crowd;
  s.outer.exchange.beta *= crowd;
  s.flat = flatten(s.inner, s.outer);
  return s;
}

std::size_t spanned_level(const GroupShape& shape, const Cluster& cluster) {
  return level_of(cluster,
                  std::max(shape.stride * (shape.ranks - 1) + 1, devices_per_node(cluster) + 1));
}

double pair_share(const Level& level) {
  switch (level.topology) {
    case Topology::Mesh:
      return 1.0 / static_cast<double>(std::max<std::int64_t>(1, level.size - 1));
    case Topology::Torus:
      return 0.5 / static_cast<double>(std::max<std::size_t>(1, level.dimensions.size()));
    case Topology::FatTree:
      return 1 / level.oversubscription;
    case Topology::Switch:
    case Topology::Rail:
    case Topology::CubeMesh:
    case Topology::Dragonfly:
      break;
  }
  return 1;
}

}  // namespace trainyard
