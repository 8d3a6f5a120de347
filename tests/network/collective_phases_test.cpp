#include "core/network/collective_phases.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/units.h"
#include "core/cluster/cluster.h"
#include "core/cost/collectives/alpha_beta.h"
#include "core/network/flow_classes.h"
#include "core/network/flow_engine.h"
#include "core/network/network.h"

namespace trainyard {
namespace {

using Algorithm = CollectiveAlgorithm;
using Kind = CollectiveKind;

Cluster switched_node(std::int64_t ranks, BytesPerSecond rate) {
  Cluster cluster = parse_cluster("h100-sxm:8");
  cluster.count = ranks;
  cluster.levels.resize(1);
  cluster.levels.front().size = ranks;
  cluster.levels.front().bandwidth.value = rate;
  return cluster;
}

// One phase after the other on an idle network, with alpha for each round.
double carried_seconds(const std::vector<MessagePhase>& phases, double bytes, double alpha,
                       const Cluster& cluster) {
  const Network network(cluster);
  const std::size_t level = cluster.levels.size() - 1;
  double total = 0;
  for (const MessagePhase& phase : phases) {
    PlacedFlows placed;
    placed.patterns = 1;
    for (const Message& m : phase.messages) {
      const auto first = static_cast<std::uint32_t>(placed.paths.size());
      if (m.from == Message::kSwitch)
        network.from_switch(m.to, {level}, placed.paths);
      else if (m.to == Message::kSwitch)
        network.to_switch(m.from, {level}, placed.paths);
      else
        network.route(m.from, m.to, 0, placed.paths);
      placed.flows.push_back(
          {0, m.share * bytes, first, static_cast<std::uint32_t>(placed.paths.size()) - first});
    }
    const FlowClasses classes = flow_classes(placed, network.capacities());
    std::vector<double> capacities;
    for (const LinkClass& link : classes.links) capacities.push_back(link.capacity);
    FlowEngine engine(capacities);
    for (const FlowClass& flow : classes.flows) engine.start({flow.path, flow.bytes}, 0);
    double end = 0;
    while (const std::optional<double> next = engine.next()) engine.finish(end = *next);
    total += phase.rounds * alpha + end * 1e-9;
  }
  return total;
}

struct DrawnCollective {
  std::int64_t ranks;
  double bytes;
  LinkCost link;
  Cluster cluster;
};
DrawnCollective drawn_collective() {
  DrawnCollective d;
  d.ranks = std::int64_t{1} << *rc::gen::inRange(1, 7);
  d.bytes = std::pow(2.0, *rc::gen::inRange(12, 34));
  const BytesPerSecond rate{*rc::gen::inRange(1, 900) * 1e9};
  d.link = {.alpha = *rc::gen::inRange(0, 100) * 1e-7, .beta = 1 / rate.value};
  d.cluster = switched_node(d.ranks, rate);
  return d;
}

// B-GRD-07: the simulator's hops take the closed form's time, within 1 % for powers of two.
TEST(CollectivePhases, HopsAsFlowsTakeTheTimeOfTheClosedForm) {
  EXPECT_TRUE(rc::check([] {
    const DrawnCollective d = drawn_collective();
    for (const Kind kind : kCollectiveKinds)
      for (int a = 0; a <= static_cast<int>(Algorithm::InNetwork); ++a) {
        const auto algorithm = static_cast<Algorithm>(a);
        if (no_hops(kind, algorithm, d.ranks)) continue;
        const std::int64_t elements = d.ranks * 1024;
        const double carried = carried_seconds(
            hop_phases(collective_hops(kind, algorithm, d.ranks, elements), elements), d.bytes,
            d.link.alpha, d.cluster);
        const double form = collective_seconds(kind, algorithm, d.bytes, d.ranks, d.link);
        RC_ASSERT(std::abs(carried - form) <= 0.01 * form);
      }
  }));
}

TEST(CollectivePhases, PhasesTakeTheTimeOfTheFormByWhichTheyArePriced) {
  EXPECT_TRUE(rc::check([] {
    const DrawnCollective d = drawn_collective();
    const auto holds = [&](Kind kind, Algorithm algorithm, double form, bool latency = true) {
      const double alpha = latency ? d.link.alpha : 0;
      const double carried = carried_seconds(collective_phases(kind, algorithm, {d.ranks, d.ranks}),
                                             d.bytes, alpha, d.cluster);
      return std::abs(carried - form) <= 0.01 * form;
    };
    const double n = d.bytes;
    const std::int64_t p = d.ranks;
    RC_ASSERT(holds(Kind::AllReduce, Algorithm::Ring, ring_all_reduce(n, p, d.link)));
    RC_ASSERT(holds(Kind::ReduceScatter, Algorithm::Ring, ring_reduce_scatter(n, p, d.link)));
    RC_ASSERT(holds(Kind::AllGather, Algorithm::Ring, ring_all_gather(n, p, d.link)));
    RC_ASSERT(holds(Kind::AllReduce, Algorithm::HalvingDoubling,
                    halving_doubling_all_reduce(n, p, d.link)));
    RC_ASSERT(holds(Kind::AllReduce, Algorithm::InNetwork, in_network_all_reduce(n, p, d.link)));
    RC_ASSERT(holds(Kind::AllToAll, Algorithm::Pairwise, pairwise_all_to_all(n, p, d.link)));
    RC_ASSERT(holds(Kind::AllToAll, Algorithm::Bruck, bruck_all_to_all(n, p, d.link)));
    RC_ASSERT(holds(Kind::HaloExchange, Algorithm::Pairwise, halo_exchange(n, d.link)));
    // From 4 ranks on every member of one tree's inside is a leaf of the other.
    if (p >= 4) {
      RC_ASSERT(holds(Kind::AllReduce, Algorithm::Tree, double_tree_all_reduce(n, p, d.link)));
      RC_ASSERT(holds(Kind::Broadcast, Algorithm::Tree, pipelined_tree_broadcast(n, p, d.link)));
      RC_ASSERT(holds(Kind::Reduce, Algorithm::Tree, pipelined_tree_reduce(n, p, d.link)));
    }
  }));
}

TEST(CollectivePhases, RingsSendWhatTheirHopsDo) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::int64_t>(2, 20);
    for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather}) {
      const std::int64_t elements = ranks * 16;
      const auto hops =
          hop_phases(collective_hops(kind, Algorithm::Ring, ranks, elements), elements);
      const auto phases = collective_phases(kind, Algorithm::Ring, {ranks, ranks});
      RC_ASSERT(hops.size() == std::size_t{1});
      RC_ASSERT(phases.size() == std::size_t{1});
      RC_ASSERT(hops.front().rounds == phases.front().rounds);
      const auto& a = hops.front().messages;
      const auto& b = phases.front().messages;
      RC_ASSERT(a.size() == b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        RC_ASSERT(a[i].from == b[i].from);
        RC_ASSERT(a[i].to == b[i].to);
        RC_ASSERT(std::abs(a[i].share - b[i].share) < 1e-9);
      }
    }
  }));
}

// A ring through nodes leaves each of them once for each of its members, so that all ports carry
// what the closed form says: n (p - 1) / p over the ports of a node.
TEST(CollectivePhases, RingsThroughNodesUseAllPorts) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t per_node = std::int64_t{1} << *rc::gen::inRange(0, 4),
                       nodes = *rc::gen::inRange<std::int64_t>(2, 9), p = per_node * nodes;
    const auto phases = collective_phases(Kind::AllReduce, Algorithm::Ring, {p, per_node});
    std::map<std::int64_t, double> out, all;
    for (const Message& m : phases.front().messages) {
      all[m.from] += m.share;
      if (m.from / per_node != m.to / per_node) out[m.from] += m.share;
    }
    const double each = 2.0 * static_cast<double>(p - 1) / static_cast<double>(p);
    RC_ASSERT(out.size() == static_cast<std::size_t>(p));
    for (const auto& [from, share] : out)
      RC_ASSERT(std::abs(share - each / static_cast<double>(per_node)) < 1e-12);
    for (const auto& [from, share] : all) RC_ASSERT(std::abs(share - each) < 1e-12);
  }));
}

}  // namespace
}  // namespace trainyard
