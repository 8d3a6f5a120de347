#include "core/cost/collective_time.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/cost/alpha_beta.h"

namespace trainyard {
namespace {

using Algorithm = CollectiveAlgorithm;

struct Choice {
  double seconds = 0;
  Algorithm algorithm = Algorithm::Ring;
};

// Of equals the first stays.
void keep_faster(Choice& best, double candidate, Algorithm algorithm) {
  if (candidate < best.seconds) best = {candidate, algorithm};
}

// One level of links as `ranks` members of a group see it.
struct Fabric {
  std::int64_t ranks = 1;
  Topology topology = Topology::Switch;
  LinkCost reduce;                               // what reductions and gathers reach
  LinkCost exchange;                             // what all-to-alls reach
  std::array<std::int64_t, 3> extents{1, 1, 1};  // Torus: ranks along each dimension

  // Whether any two may talk at full rate, as partners of recursive algorithms do.
  bool pairs = true;

  bool recursive() const { return pairs && std::has_single_bit(static_cast<std::uint64_t>(ranks)); }
};

// How `ranks` devices, `stride` apart, lie in the torus; one ring of all of them when they do not
// fill a box.
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

// A torus gives a group the links along the dimensions it spans, and an all-to-all what its
// narrowest cut lets through: with D dimensions and k ranks along the longest, n k D / (4 rate) for
// n bytes a rank.
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

Fabric see(const Level& level, std::int64_t ranks, std::int64_t stride, double share,
           double exchange_share, bool latency) {
  Fabric fabric;
  fabric.ranks = ranks;
  fabric.topology = level.topology;
  fabric.pairs = level.topology != Topology::Mesh;
  double rate = level.bandwidth.value.value;
  if (level.topology == Topology::FatTree) rate /= level.oversubscription;
  if (level.topology == Topology::Mesh && level.size > ranks && ranks > 1)
    rate *= static_cast<double>(ranks - 1) / static_cast<double>(level.size - 1);
  const double alpha = latency ? to_seconds(level.latency.value) : 0;
  fabric.reduce = {.alpha = alpha, .beta = 1 / (rate * share)};
  fabric.exchange = {.alpha = alpha, .beta = 1 / (rate * exchange_share)};
  if (level.topology == Topology::Torus) see_torus(fabric, level, stride);
  return fabric;
}

Choice all_reduce(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_all_reduce(n, f.extents, f.reduce), Algorithm::Torus};
  Choice best{ring_all_reduce(n, f.ranks, f.reduce), Algorithm::Ring};
  if (f.topology == Topology::Mesh) return best;
  keep_faster(best, double_tree_all_reduce(n, f.ranks, f.reduce), Algorithm::Tree);
  if (f.recursive()) {
    keep_faster(best, halving_doubling_all_reduce(n, f.ranks, f.reduce),
                Algorithm::HalvingDoubling);
    keep_faster(best, recursive_doubling_all_reduce(n, f.ranks, f.reduce),
                Algorithm::RecursiveDoubling);
  }
  return best;
}

Choice reduce_scatter(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_reduce_scatter(n, f.extents, f.reduce), Algorithm::Torus};
  Choice best{ring_reduce_scatter(n, f.ranks, f.reduce), Algorithm::Ring};
  if (f.recursive())
    keep_faster(best, recursive_halving_reduce_scatter(n, f.ranks, f.reduce),
                Algorithm::HalvingDoubling);
  return best;
}

Choice all_gather(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_all_gather(n, f.extents, f.reduce), Algorithm::Torus};
  Choice best{ring_all_gather(n, f.ranks, f.reduce), Algorithm::Ring};
  if (f.recursive())
    keep_faster(best, recursive_doubling_all_gather(n, f.ranks, f.reduce),
                Algorithm::HalvingDoubling);
  return best;
}

// A torus broadcasts as it all-reduces: spread out along each dimension, then gathered.
Choice broadcast(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_all_reduce(n, f.extents, f.reduce), Algorithm::Torus};
  Choice best{scatter_all_gather_broadcast(n, f.ranks, f.reduce), Algorithm::ScatterGather};
  if (f.topology != Topology::Mesh)
    keep_faster(best, pipelined_tree_broadcast(n, f.ranks, f.reduce), Algorithm::Tree);
  return best;
}

Choice all_to_all(double n, const Fabric& f) {
  Choice best{pairwise_all_to_all(n, f.ranks, f.exchange), Algorithm::Pairwise};
  if (f.topology != Topology::Mesh && f.topology != Topology::Torus)
    keep_faster(best, bruck_all_to_all(n, f.ranks, f.exchange), Algorithm::Bruck);
  return best;
}

Choice within(CollectiveKind kind, double n, const Fabric& fabric) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return all_reduce(n, fabric);
    case CollectiveKind::ReduceScatter:
      return reduce_scatter(n, fabric);
    case CollectiveKind::AllGather:
      return all_gather(n, fabric);
    case CollectiveKind::Broadcast:
      return broadcast(n, fabric);
    case CollectiveKind::AllToAll:
      return all_to_all(n, fabric);
  }
  return {};
}

// Groups with members in several nodes.
struct Spanning {
  Fabric inner;  // the members of one node
  Fabric outer;  // one member of each node
  Fabric flat;   // all members in one ring or tree, each node's ports used together
};

struct Split {
  Choice choice;
  bool outer_binds = true;
};

// The parts inside nodes and between nodes one after the other; n / per_node is what each member
// carries outside.
Split hierarchical(CollectiveKind kind, double n, const Spanning& s) {
  const double share = n / static_cast<double>(s.inner.ranks);
  const double outer = within(kind, share, s.outer).seconds;
  double before = 0, after = 0;
  if (kind != CollectiveKind::AllGather) before = reduce_scatter(n, s.inner).seconds;
  if (kind != CollectiveKind::ReduceScatter) after = all_gather(n, s.inner).seconds;
  return {{hierarchical_all_reduce(before, outer, after), Algorithm::Hierarchical},
          outer >= before + after};
}

// What stays in the node and what leaves it use different links at the same time.
Split spanning_all_to_all(double n, const Spanning& s) {
  const double ranks = static_cast<double>(s.flat.ranks),
               per_node = static_cast<double>(s.inner.ranks);
  const double inside = n * (per_node - 1) / ranks * s.inner.exchange.beta;
  const double outside = n * (ranks - per_node) / ranks * s.outer.exchange.beta;
  Choice best{(ranks - 1) * s.outer.exchange.alpha + std::max(inside, outside),
              Algorithm::Pairwise};
  keep_faster(best, bruck_all_to_all(n, s.flat.ranks, s.outer.exchange), Algorithm::Bruck);
  return {best, outside >= inside};
}

Split across(CollectiveKind kind, double n, const Spanning& s) {
  if (kind == CollectiveKind::AllToAll) return spanning_all_to_all(n, s);
  if (s.inner.ranks == 1) return {within(kind, n, s.outer), true};
  Split best{within(kind, n, s.flat), true};
  if (kind == CollectiveKind::Broadcast) return best;
  const Split split = hierarchical(kind, n, s);
  return split.choice.seconds < best.choice.seconds ? split : best;
}

// A chain through all members leaves and enters a node once for each port they drive; never faster
// than inside.
Fabric flatten(const Fabric& inner, const Fabric& outer) {
  Fabric flat = outer;
  flat.ranks = inner.ranks * outer.ranks;
  flat.topology = Topology::Switch;
  flat.pairs = false;  // all of a node's members would send out of it at once in some steps
  flat.reduce.beta =
      std::max(inner.reduce.beta, outer.reduce.beta / static_cast<double>(inner.ranks));
  return flat;
}

Spanning see_spanning(const GroupShape& shape, std::int64_t per_node, const Cluster& cluster,
                      std::size_t level, const Efficiency& e, bool latency) {
  const std::int64_t in_node = devices_per_node(cluster);
  const std::int64_t node_count = (shape.ranks + per_node - 1) / per_node;
  Spanning s;
  s.inner = see(cluster.levels.front(), per_node, shape.stride, e.scale_up.value,
                e.all_to_all.value, latency);
  s.outer =
      see(cluster.levels[level], node_count, std::max<std::int64_t>(1, shape.stride / in_node),
          e.network.value, e.all_to_all.value, latency);
  // Each member drives its own port; only more groups than ports have to share.
  const double crowd = std::max(
      1.0, static_cast<double>(shape.neighbours * per_node) / static_cast<double>(in_node));
  s.outer.reduce.beta *= crowd;
  s.outer.exchange.beta *= crowd;
  s.flat = flatten(s.inner, s.outer);
  return s;
}

}  // namespace

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
      break;
  }
  return 1;
}

CollectiveTime collective_time(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                               const Cluster& cluster, const Efficiency& efficiency, bool latency) {
  if (shape.ranks <= 1 || bytes.value <= 0) return {};
  const double n = static_cast<double>(bytes.value);
  const double start = latency ? to_seconds(cluster.device.message_start.value) : 0;
  const std::int64_t per_node = std::clamp<std::int64_t>(shape.per_node, 1, shape.ranks);
  if (per_node == shape.ranks) {
    const Fabric node = see(cluster.levels.front(), shape.ranks, shape.stride,
                            efficiency.scale_up.value, efficiency.all_to_all.value, latency);
    const Choice choice = within(kind, n, node);
    return {seconds(start + choice.seconds), choice.algorithm, 0};
  }
  const std::int64_t extent =
      std::max(shape.stride * (shape.ranks - 1) + 1, devices_per_node(cluster) + 1);
  const std::size_t level = level_of(cluster, extent);
  const Split split =
      across(kind, n, see_spanning(shape, per_node, cluster, level, efficiency, latency));
  return {seconds(start + split.choice.seconds), split.choice.algorithm,
          split.outer_binds ? level : 0};
}

}  // namespace trainyard
