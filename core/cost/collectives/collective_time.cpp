#include "core/cost/collectives/collective_time.h"

#include <algorithm>

#include "core/cost/collectives/alpha_beta.h"
#include "core/cost/collectives/fabric.h"

namespace trainyard {
namespace {

using Algorithm = CollectiveAlgorithm;

struct TimedChoice {
  double seconds = 0;
  Algorithm algorithm = Algorithm::Ring;
};

// Of equally fast algorithms the first is kept.
void keep_faster(TimedChoice& best, double candidate, Algorithm algorithm) {
  if (candidate < best.seconds) best = {candidate, algorithm};
}

TimedChoice all_reduce(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_all_reduce(n, f.extents, f.reduce), Algorithm::Torus};
  TimedChoice best{ring_all_reduce(n, f.ranks, f.reduce), Algorithm::Ring};
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

TimedChoice reduce_scatter(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_reduce_scatter(n, f.extents, f.reduce), Algorithm::Torus};
  TimedChoice best{ring_reduce_scatter(n, f.ranks, f.reduce), Algorithm::Ring};
  if (f.recursive())
    keep_faster(best, recursive_halving_reduce_scatter(n, f.ranks, f.reduce),
                Algorithm::HalvingDoubling);
  return best;
}

TimedChoice all_gather(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_all_gather(n, f.extents, f.reduce), Algorithm::Torus};
  TimedChoice best{ring_all_gather(n, f.ranks, f.reduce), Algorithm::Ring};
  if (f.recursive())
    keep_faster(best, recursive_doubling_all_gather(n, f.ranks, f.reduce),
                Algorithm::HalvingDoubling);
  return best;
}

// A torus broadcasts as it all-reduces: the data is scattered along each dimension and then
// gathered.
TimedChoice broadcast(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_all_reduce(n, f.extents, f.reduce), Algorithm::Torus};
  TimedChoice best{scatter_all_gather_broadcast(n, f.ranks, f.reduce), Algorithm::ScatterGather};
  if (f.topology != Topology::Mesh)
    keep_faster(best, pipelined_tree_broadcast(n, f.ranks, f.reduce), Algorithm::Tree);
  return best;
}

TimedChoice reduce(double n, const Fabric& f) {
  if (f.topology == Topology::Torus)
    return {torus_reduce_scatter(n, f.extents, f.reduce) + torus_all_gather(n, f.extents, f.reduce),
            Algorithm::Torus};
  TimedChoice best{ring_reduce(n, f.ranks, f.reduce), Algorithm::Ring};
  if (f.topology == Topology::Mesh) return best;
  keep_faster(best, pipelined_tree_reduce(n, f.ranks, f.reduce), Algorithm::Tree);
  if (f.recursive())
    keep_faster(best, halving_reduce(n, f.ranks, f.reduce), Algorithm::HalvingDoubling);
  return best;
}

TimedChoice all_to_all(double n, const Fabric& f) {
  TimedChoice best{pairwise_all_to_all(n, f.ranks, f.exchange), Algorithm::Pairwise};
  if (f.topology != Topology::Mesh && f.topology != Topology::Torus)
    keep_faster(best, bruck_all_to_all(n, f.ranks, f.exchange), Algorithm::Bruck);
  return best;
}

TimedChoice within(CollectiveKind kind, double n, const Fabric& fabric) {
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
    case CollectiveKind::Reduce:
      return reduce(n, fabric);
    case CollectiveKind::Gather:
      return {tree_gather(n, fabric.ranks, fabric.reduce), Algorithm::Tree};
    case CollectiveKind::Scatter:
      return {tree_scatter(n, fabric.ranks, fabric.reduce), Algorithm::Tree};
    case CollectiveKind::HaloExchange:
      return {halo_exchange(n, fabric.exchange), Algorithm::Pairwise};
  }
  return {};
}

struct Split {
  TimedChoice choice;
  bool outer_binds = true;
};

// The parts inside nodes and between nodes run one after the other; each member sends n / per_node
// out of the node.
Split hierarchical(CollectiveKind kind, double n, const Spanning& s) {
  const double share = n / static_cast<double>(s.inner.ranks);
  const double outer = within(kind, share, s.outer).seconds;
  double before = 0, after = 0;
  switch (kind) {
    case CollectiveKind::ReduceScatter:
      before = reduce_scatter(n, s.inner).seconds;
      break;
    case CollectiveKind::Scatter:
      before = within(kind, n, s.inner).seconds;
      break;
    case CollectiveKind::AllGather:
      after = all_gather(n, s.inner).seconds;
      break;
    case CollectiveKind::Gather:
      after = within(kind, n, s.inner).seconds;
      break;
    case CollectiveKind::Reduce:
      before = reduce_scatter(n, s.inner).seconds;
      after = within(CollectiveKind::Gather, n, s.inner).seconds;
      break;
    default:
      before = reduce_scatter(n, s.inner).seconds, after = all_gather(n, s.inner).seconds;
  }
  return {{hierarchical_all_reduce(before, outer, after), Algorithm::Hierarchical},
          outer >= before + after};
}

// Data that stays in the node and data that leaves it use different links at the same time.
Split spanning_all_to_all(double n, const Spanning& s) {
  const double ranks = static_cast<double>(s.flat.ranks),
               per_node = static_cast<double>(s.inner.ranks);
  const double inside = n * (per_node - 1) / ranks * s.inner.exchange.beta;
  const double outside = n * (ranks - per_node) / ranks * s.outer.exchange.beta;
  TimedChoice best{(ranks - 1) * s.outer.exchange.alpha + std::max(inside, outside),
                   Algorithm::Pairwise};
  keep_faster(best, bruck_all_to_all(n, s.flat.ranks, s.outer.exchange), Algorithm::Bruck);
  return {best, outside >= inside};
}

Split across(CollectiveKind kind, double n, const Spanning& s) {
  if (kind == CollectiveKind::AllToAll) return spanning_all_to_all(n, s);
  if (s.inner.ranks == 1) return {within(kind, n, s.outer), true};
  Split best{within(kind, n, s.flat), true};
  if (kind == CollectiveKind::Broadcast || kind == CollectiveKind::HaloExchange) return best;
  const Split split = hierarchical(kind, n, s);
  return split.choice.seconds < best.choice.seconds ? split : best;
}

}  // namespace

CollectiveTime collective_time(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                               const Cluster& cluster, const LinkShares& shares, bool latency) {
  if (shape.ranks <= 1 || bytes.value <= 0) return {};
  const double n = static_cast<double>(bytes.value);
  const double start = latency ? to_seconds(cluster.device.message_start.value) : 0;
  const std::int64_t per_node = std::clamp<std::int64_t>(shape.per_node, 1, shape.ranks);
  if (per_node == shape.ranks) {
    const Fabric node = see(cluster.levels.front(), shape.ranks, shape.stride, shares, latency);
    const TimedChoice choice = within(kind, n, node);
    return {seconds(start + choice.seconds), choice.algorithm, 0};
  }
  const std::size_t level = spanned_level(shape, cluster);
  const Split split = across(kind, n, see_spanning(shape, cluster, shares, latency));
  return {seconds(start + split.choice.seconds), split.choice.algorithm,
          split.outer_binds ? level : 0};
}

}  // namespace trainyard
