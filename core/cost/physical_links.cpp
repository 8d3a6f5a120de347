#include "core/cost/physical_links.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/cost/collectives/collective_time.h"
#include "core/cost/collectives/fabric.h"
#include "core/cost/generation.h"

namespace trainyard {
namespace {

using Algorithm = CollectiveAlgorithm;
using P = Parameter;

struct Route {
  double seconds = 0;
  Algorithm algorithm = Algorithm::Ring;
};

void keep_faster_route(Route& best, double candidate, Algorithm algorithm) {
  if (candidate < best.seconds) best = {candidate, algorithm};
}

double in_bytes(Bytes bytes) { return static_cast<double>(bytes.value); }

double bus_share(Generation g, const Device& device, const Parameters& p) {
  switch (g) {
    case Generation::Volta:
      return p[P::BusVolta];
    case Generation::Ampere:
      return p[P::BusAmpere];
    case Generation::Hopper:
      return p[P::BusHopper];
    case Generation::Blackwell:
      return p[P::BusBlackwell];
    case Generation::Tpu:
      return p[P::BusTpu];
    case Generation::Other:
      break;
  }
  return device.efficiency.scale_up.value;
}

// Beyond the known rates the share is that of the nearest one.
double share_along(const std::array<BusShare, 4>& known, double rate) {
  if (rate <= known.front().rate) return known.front().share;
  for (std::size_t i = 1; i < known.size(); ++i) {
    const BusShare &a = known[i - 1], &b = known[i];
    if (rate <= b.rate)
      return a.share *
             std::pow(b.share / a.share, std::log(rate / a.rate) / std::log(b.rate / a.rate));
  }
  return known.back().share;
}

// A Protocol is how data signals its arrival to the receiver: by a flag in every 16 bytes, by one
// in every 128, or by a fence after a large piece. The first two wait less at each hop but carry
// less data (NCCL's LL, LL128 and Simple; shares from its latency and bandwidth tables).
struct Protocol {
  double latency, bytes;
};
constexpr Protocol kProtocols[] = {{1, 1}, {0.5, 128.0 / 120}, {0.2, 2}};

LinkCost by(const Protocol& p, LinkCost link) {
  link.alpha *= p.latency, link.beta *= p.bytes;
  return link;
}
Fabric by(const Protocol& p, Fabric f) {
  f.reduce = by(p, f.reduce), f.exchange = by(p, f.exchange);
  return f;
}
Spanning by(const Protocol& p, const Spanning& s) {
  return {by(p, s.inner), by(p, s.outer), by(p, s.flat)};
}

// This is for the members of one node, with p - 1 hops round the ring.
Route inside(CollectiveKind kind, double n, const Fabric& f) {
  switch (kind) {
    case CollectiveKind::AllReduce: {
      Route best{ring_all_reduce(n, f.ranks, f.reduce), Algorithm::Ring};
      if (f.reduces)
        keep_faster_route(best, in_network_all_reduce(n, f.ranks, f.reduce), Algorithm::InNetwork);
      return best;
    }
    case CollectiveKind::ReduceScatter:
      return {ring_reduce_scatter(n, f.ranks, f.reduce), Algorithm::Ring};
    case CollectiveKind::AllGather:
      return {ring_all_gather(n, f.ranks, f.reduce), Algorithm::Ring};
    case CollectiveKind::Broadcast: {
      Route best{scatter_all_gather_broadcast(n, f.ranks, f.reduce), Algorithm::ScatterGather};
      if (f.topology != Topology::Mesh)
        keep_faster_route(best, pipelined_tree_broadcast(n, f.ranks, f.reduce), Algorithm::Tree);
      return best;
    }
    case CollectiveKind::AllToAll:
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter:  // the root's messages are posted at once
      return {posted_all_to_all(n, f.ranks, f.exchange), Algorithm::Pairwise};
    case CollectiveKind::HaloExchange:
      return {halo_exchange(n, f.exchange), Algorithm::Pairwise};
    case CollectiveKind::Reduce: {
      Route best{ring_reduce(n, f.ranks, f.reduce), Algorithm::Ring};
      if (f.topology != Topology::Mesh)
        keep_faster_route(best, pipelined_tree_reduce(n, f.ranks, f.reduce), Algorithm::Tree);
      return best;
    }
  }
  return {};
}

// Returns the latency of a piece of data that goes round a ring of all members: of its hops, one
// per node leaves the node.
double trip(const Spanning& s) {
  const double within = static_cast<double>(s.flat.ranks - s.outer.ranks),
               out = static_cast<double>(s.outer.ranks - 1);
  return within * s.inner.reduce.alpha + out * s.outer.reduce.alpha;
}

// Returns the latency down a tree between nodes and along a chain inside each.
double depth(const Spanning& s) {
  const double chain = static_cast<double>(s.inner.ranks - 1),
               levels = std::ceil(std::log2(static_cast<double>(s.outer.ranks)));
  return chain * s.inner.reduce.alpha + levels * s.outer.reduce.alpha;
}

Route across_all_reduce(double n, const Spanning& s) {
  const LinkCost wire{.beta = s.flat.reduce.beta};
  const std::int64_t p = s.flat.ranks;
  Route best{2 * trip(s) + ring_all_reduce(n, p, wire), Algorithm::Ring};
  keep_faster_route(best, 2 * depth(s) + double_tree_all_reduce(n, p, wire), Algorithm::Tree);
  if (s.outer.reduces) {
    const double share = n / static_cast<double>(s.inner.ranks);
    keep_faster_route(
        best,
        hierarchical_all_reduce(ring_reduce_scatter(n, s.inner.ranks, s.inner.reduce),
                                switched_all_reduce(share, s.outer.ranks, s.outer.reduce),
                                ring_all_gather(n, s.inner.ranks, s.inner.reduce)),
        Algorithm::InNetwork);
  }
  return best;
}

Route route_across(CollectiveKind kind, double n, const Spanning& s) {
  const LinkCost wire{.beta = s.flat.reduce.beta};
  const std::int64_t p = s.flat.ranks;
  switch (kind) {
    case CollectiveKind::AllReduce:
      return across_all_reduce(n, s);
    case CollectiveKind::ReduceScatter:
      return {trip(s) + ring_reduce_scatter(n, p, wire), Algorithm::Ring};
    case CollectiveKind::AllGather:
      return {trip(s) + ring_all_gather(n, p, wire), Algorithm::Ring};
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
      return {depth(s) + pipelined_tree_broadcast(n, 2, wire), Algorithm::Tree};
    case CollectiveKind::HaloExchange:  // of a rank at the edge of a node, half leaves it
      return {halo_exchange(n, s.outer.exchange), Algorithm::Pairwise};
    case CollectiveKind::AllToAll:
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter: {
      // Data that stays in the node and data that leaves it use different links at the same time.
      const double ranks = static_cast<double>(p), mine = static_cast<double>(s.inner.ranks);
      return {s.outer.exchange.alpha + std::max(n * (mine - 1) / ranks * s.inner.exchange.beta,
                                                n * (ranks - mine) / ranks * s.outer.exchange.beta),
              Algorithm::Pairwise};
    }
  }
  return {};
}

template <class Take>
Route fastest(const Take& take) {
  Route best = take(kProtocols[0]);
  for (const Protocol& p : {kProtocols[1], kProtocols[2]}) {
    const Route route = take(p);
    keep_faster_route(best, route.seconds, route.algorithm);
  }
  return best;
}

}  // namespace

double LinkTerms::bus(BytesPerSecond links) const {
  if (links.value == own.rate) return own.share;
  return own.share * share_along(known, links.value) / share_along(known, own.rate);
}

LinkTerms link_terms(const Device& device, const Parameters& p) {
  const Generation g = generation(device);
  LinkTerms t;
  t.own = {device.scale_up.value.value, bus_share(g, device, p)};
  t.port = device.efficiency.send.value, t.exchange = device.efficiency.all_to_all.value;
  t.state = t.activations = device.efficiency.network.value;
  t.inside = t.across = t.send = to_seconds(device.message_start.value);
  if (g == Generation::Other) return t;
  t.state = p[P::NetworkReduce], t.activations = p[P::NetworkTensor];
  t.port = p[P::Send], t.exchange = p[P::AllToAll];
  t.rings = g != Generation::Tpu;
  if (!t.rings) return t;  // a torus runs one compiled program, so no host starts its messages
  t.known = {BusShare{150e9, p[P::BusVolta]}, BusShare{300e9, p[P::BusAmpere]},
             BusShare{450e9, p[P::BusHopper]}, BusShare{900e9, p[P::BusBlackwell]}};
  t.inside = p[P::LatencyInside] * 1e-6, t.across = p[P::LatencyAcross] * 1e-6;
  t.send = p[P::SendStart] * 1e-6;
  return t;
}

Duration physical_transfer(Bytes bytes, const Cluster& cluster, std::size_t level,
                           const LinkTerms& terms) {
  if (bytes.value <= 0) return Duration{0};
  const Level& link = cluster.levels[std::min(level, cluster.levels.size() - 1)];
  const double share = level == 0 ? terms.bus(link.bandwidth.value) : terms.port;
  const double rate = link.bandwidth.value.value * pair_share(link) * share;
  return seconds(in_bytes(bytes) / rate + to_seconds(link.latency.value) + terms.send);
}

CollectiveTime physical_collective(CollectiveKind kind, Bytes bytes, const GroupShape& shape,
                                   const Cluster& cluster, const LinkTerms& terms) {
  if (shape.ranks <= 1 || bytes.value <= 0) return {};
  const LinkShares shares{terms.bus(cluster.levels.front().bandwidth.value),
                          shape.traffic == Traffic::Activations ? terms.activations : terms.state,
                          terms.exchange};
  if (!terms.rings) return collective_time(kind, bytes, shape, cluster, shares, true);
  const double n = in_bytes(bytes);
  if (shape.per_node >= shape.ranks) {
    const Fabric node = see(cluster.levels.front(), shape.ranks, shape.stride, shares, true);
    const Route found = fastest([&](const Protocol& p) { return inside(kind, n, by(p, node)); });
    return {seconds(terms.inside + found.seconds), found.algorithm, 0};
  }
  const Spanning s = see_spanning(shape, cluster, shares, true);
  const Route found = fastest([&](const Protocol& p) { return route_across(kind, n, by(p, s)); });
  const bool network = s.flat.reduce.beta > s.inner.reduce.beta || kind == CollectiveKind::AllToAll;
  return {seconds(terms.across + found.seconds), found.algorithm,
          network ? spanned_level(shape, cluster) : 0};
}

}  // namespace trainyard
