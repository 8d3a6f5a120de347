// The cube mesh of a DGX-1 and the dragonfly, against what their papers count.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/network/cube_mesh.h"
#include "core/network/dragonfly.h"
#include "core/network/network.h"

namespace trainyard {
namespace {

struct Sent {
  std::int64_t from = 0, to = 0;
  double bytes = 1;
};

struct Carried {
  double rate = 0;  // of all flows at the beginning, in bytes per nanosecond
  double last = 0;  // nanoseconds until all have arrived
};

Carried carried(const Network& network, const std::vector<Sent>& sent) {
  std::vector<std::vector<FlowLink>> paths(sent.size());
  FlowEngine engine(network.capacities());
  std::vector<FlowEngine::Id> ids;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    network.route(sent[i].from, sent[i].to, 1, paths[i]);
    ids.push_back(engine.start({paths[i], sent[i].bytes}, 0));
  }
  Carried found;
  std::optional<double> next = engine.next();
  for (const FlowEngine::Id id : ids) found.rate += engine.rate(id);
  for (; next; next = engine.next()) engine.finish(found.last = *next);
  return found;
}

int links_across(unsigned half, int links) {
  int across = 0;
  for (std::int64_t a = 0; a < kCubeMeshDevices; ++a)
    for (std::int64_t b = a + 1; b < kCubeMeshDevices; ++b)
      if ((half >> a & 1) != (half >> b & 1)) across += cube_mesh_links(a, b, links);
  return across;
}

TEST(CubeMesh, HasThePairsOfTheDgx1) {
  // `nvidia-smi topo -m` on a DGX-1V has these links of GPU 0 and of GPU 1 to all others.
  const std::vector<int> first = {0, 1, 1, 2, 2, 0, 0, 0}, second = {1, 0, 2, 1, 0, 2, 0, 0};
  for (std::int64_t b = 0; b < kCubeMeshDevices; ++b) {
    EXPECT_EQ(cube_mesh_links(0, b, 6), first[static_cast<std::size_t>(b)]) << b;
    EXPECT_EQ(cube_mesh_links(1, b, 6), second[static_cast<std::size_t>(b)]) << b;
  }
  for (const int links : {4, 6})
    for (std::int64_t a = 0; a < kCubeMeshDevices; ++a) {
      int all = 0;
      for (std::int64_t b = 0; b < kCubeMeshDevices; ++b) {
        const int pair = cube_mesh_links(a, b, links);
        EXPECT_EQ(pair, cube_mesh_links(b, a, links));
        if (a != b && pair == 0) {
          EXPECT_FALSE(cube_mesh_between(a, b, links).empty());
        }
        all += pair;
      }
      EXPECT_EQ(all, links) << a;
    }
}

// The narrowest of all 35 cuts into halves is the one between the squares, and messages from each
// corner to that of the other square fill it.
TEST(CubeMesh, FlowsFillItsNarrowestCut) {
  for (const int links : {4, 6}) {
    int least = 8 * links;
    for (unsigned half = 0; half < 256; ++half)
      if (std::popcount(half) == 4) least = std::min(least, links_across(half, links));
    EXPECT_EQ(least, links_across(0x0f, links));
    EXPECT_EQ(least, links == 6 ? 6 : 4);
    const Network network(parse_cluster("v100-sxm2-32:8,cube-mesh=" + std::to_string(links)));
    std::vector<Sent> sent;
    for (std::int64_t a = 0; a < 4; ++a) sent.push_back({a, a + 4, 1});
    EXPECT_NEAR(carried(network, sent).rate, least * 150.0 / links, 1e-9);
  }
}

// Rings both ways round take 2 (p - 1) / p of the bytes over all links of a device.
TEST(CubeMesh, AnAllReduceOverItsRingsTakesTheClosedForm) {
  for (const int links : {4, 6}) {
    const Network network(parse_cluster("v100-sxm2-32:8,cube-mesh=" + std::to_string(links)));
    constexpr double kBytes = 1e9;
    std::vector<Sent> sent;
    for (const CubeMeshRing& ring : cube_mesh_rings(links))
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const std::int64_t a = ring[i], b = ring[(i + 1) % ring.size()];
        for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
          sent.push_back({from, to, 2 * 7.0 / 8 * kBytes / links});
      }
    const double closed = 2 * 7.0 / 8 * kBytes / 150;
    EXPECT_NEAR(carried(network, sent).last / closed, 1, 0.01);
  }
}

TEST(CubeMesh, ForwardsWhatHasNoLinkInEqualParts) {
  const Network network(parse_cluster("v100-sxm2-32:16,cube-mesh=6"));
  std::vector<FlowLink> path;
  network.route(8, 13, 1, path);  // places 0 and 5, by places 1 and 4
  ASSERT_EQ(path.size(), 4u);
  for (const FlowLink& over : path) EXPECT_EQ(over.flows, 0.5);
  EXPECT_EQ(network.name(path[0].link), "link of device 8, to place 1 of its node");
  EXPECT_EQ(network.name(path[1].link), "link of device 9, to place 5 of its node");
}

Dragonfly drawn_dragonfly() {
  for (;;) {
    const Dragonfly drawn{*rc::gen::inRange<std::int64_t>(2, 8),
                          *rc::gen::inRange<std::int64_t>(1, 6),
                          *rc::gen::inRange<std::int64_t>(1, 6)};
    if (is_dragonfly(drawn)) return drawn;
  }
}

TEST(DragonflyWiring, EveryLinkOfEveryRouterLeadsToOneOtherGroup) {
  EXPECT_TRUE(rc::check([] {
    const Dragonfly d = drawn_dragonfly();
    std::set<std::pair<std::int64_t, std::int64_t>> used;
    for (std::int64_t from = 0; from < d.groups; ++from)
      for (std::int64_t to = 0; to < d.groups; ++to) {
        if (from == to) continue;
        for (std::int64_t which = 0; which < d.between_groups(); ++which) {
          const DragonflyPort port = dragonfly_port(d, from, to, which);
          RC_ASSERT(port.router / d.routers == from);
          RC_ASSERT(port.link >= 0 && port.link < d.links);
          RC_ASSERT(used.insert({port.router, port.link}).second);
        }
      }
    RC_ASSERT(static_cast<std::int64_t>(used.size()) == d.all_routers() * d.links);
  }));
}

std::string dragonfly_name(const Dragonfly& d, std::int64_t each) {
  return "h100-sxm:" + std::to_string(d.all_routers() * each) +
         ",per-node=1,dragonfly=" + std::to_string(d.groups) + "x" + std::to_string(d.routers) +
         "x" + std::to_string(d.links);
}

// Both ports, and over the links of routers: one link between groups, and at most one within each
// group, whichever of the paths is chosen.
TEST(DragonflyWiring, MessagesTakeShortestPaths) {
  EXPECT_TRUE(rc::check([] {
    const Dragonfly d = drawn_dragonfly();
    const std::int64_t each = *rc::gen::inRange<std::int64_t>(1, 4);
    const bool hashed = *rc::gen::arbitrary<bool>();
    const Cluster cluster = parse_cluster(dragonfly_name(d, each));
    const Network network(cluster, hashed ? NetworkRouting::Hashed : NetworkRouting::Spread);
    const std::int64_t from = *rc::gen::inRange<std::int64_t>(0, cluster.count),
                       to = (from + *rc::gen::inRange<std::int64_t>(1, cluster.count)) %
                            cluster.count;
    std::vector<FlowLink> path;
    network.route(from, to, 7, path);
    double ports = 0, within = 0, across = 0;
    for (const FlowLink& over : path) {
      const std::string name = network.name(over.link);
      (name.starts_with("port")                          ? ports
       : name.find("another group") != std::string::npos ? across
                                                         : within) += over.flows;
    }
    const std::int64_t here = from / each, there = to / each;
    const bool same_group = here / d.routers == there / d.routers;
    RC_ASSERT(std::abs(ports - 2) < 1e-12);
    RC_ASSERT(std::abs(across - (same_group ? 0 : 1)) < 1e-12);
    if (same_group)
      RC_ASSERT(within == (here == there ? 0 : 1));
    else
      RC_ASSERT(within <= 2 + 1e-12);
  }));
}

// (G / 2)^2 pairs of groups, each joined by R L / (G - 1) links; where R >= 2 L no link within a
// group is narrower.
TEST(DragonflyWiring, FlowsBetweenHalvesOfTheGroupsFillTheirCut) {
  for (const Dragonfly& d : {Dragonfly{2, 2, 1}, Dragonfly{4, 3, 1}, Dragonfly{4, 6, 2}}) {
    const std::int64_t each = d.links;
    const Cluster cluster = parse_cluster(dragonfly_name(d, each));
    std::vector<Sent> sent;
    for (std::int64_t from = 0; from < cluster.count / 2; ++from)
      for (std::int64_t to = cluster.count / 2; to < cluster.count; ++to)
        sent.push_back({from, to, 1});
    const double port = cluster.levels[1].bandwidth.value.value * 1e-9;
    const auto cut = static_cast<double>(d.groups * d.groups / 4 * d.between_groups()) * port;
    EXPECT_NEAR(carried(Network(cluster), sent).rate / cut, 1, 1e-9) << dragonfly_name(d, each);
  }
}

TEST(Wirings, LevelsMayBeCalledAnything) {
  Cluster cluster = parse_cluster("h100-sxm:32");
  cluster.levels.push_back(cluster.levels[1]);
  cluster.levels[1].size = 16, cluster.levels[1].name = "pod {} of {x";
  const Network network(cluster);
  std::vector<FlowLink> path;
  network.route(3, 29, 1, path);
  ASSERT_EQ(path.size(), 4u);
  EXPECT_EQ(network.name(path[1].link), "link up of pod {} of {x 0");
  EXPECT_EQ(network.name(path[2].link), "link down to pod {} of {x 1");
}

TEST(Wirings, NamesGiveTheSameClusterAgain) {
  for (const char* name : {"v100-sxm2-32:16,cube-mesh=6", "h100-sxm:72,dragonfly=3x3x2",
                           "v100-sxm2-16:64,dragonfly=2x4x1,cube-mesh=4"}) {
    const Cluster cluster = parse_cluster(name);
    EXPECT_EQ(parse_cluster(cluster.name), cluster) << name;
    EXPECT_TRUE(check(cluster).empty()) << name;
  }
}

}  // namespace
}  // namespace trainyard
