#include "core/cost/physical_links.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/cost/collectives/bus_bandwidth.h"
#include "core/cost/physical.h"
#include "tests/cost/every_collective.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::kEveryCollective;

Parameters round_figures() {
  Parameters p;
  p[Parameter::BusAmpere] = p[Parameter::BusHopper] = 0.8;
  p[Parameter::NetworkReduce] = 0.5;
  p[Parameter::NetworkTensor] = 0.9;
  p[Parameter::LatencyInside] = 40;
  p[Parameter::LatencyAcross] = 60;
  return p;
}

CollectiveTime on_links(CollectiveKind kind, std::int64_t bytes, const GroupShape& group,
                        const Cluster& cluster) {
  return physical_collective(kind, {bytes}, group, cluster,
                             link_terms(cluster.device, round_figures()));
}

TEST(PhysicalLinks, ANodeReducesInARing) {
  const Cluster c = parse_cluster("a100:8");
  const GroupShape eight{.ranks = 8, .per_node = 8};
  const CollectiveTime t = on_links(CollectiveKind::AllReduce, 240'000'000, eight, c);
  EXPECT_EQ(t.algorithm, CollectiveAlgorithm::Ring);
  EXPECT_NEAR(to_seconds(t.time), 40e-6 + 14 * 4e-6 + 2 * 7.0 / 8 * 1e-3, 2e-9);
  const CollectiveTime half = on_links(CollectiveKind::ReduceScatter, 240'000'000, eight, c);
  EXPECT_NEAR(to_seconds(half.time), 40e-6 + 7 * 4e-6 + 7.0 / 8 * 1e-3, 2e-9);
  EXPECT_EQ(on_links(CollectiveKind::AllGather, 240'000'000, eight, c).time, half.time);
}

// NVLink SHARP: 9/8 of the bytes a direction instead of 14/8.
TEST(PhysicalLinks, SwitchesThatAddUpDoSoInsideHopperNodes) {
  const GroupShape eight{.ranks = 8, .per_node = 8};
  const CollectiveTime t =
      on_links(CollectiveKind::AllReduce, 360'000'000, eight, parse_cluster("h100:8"));
  EXPECT_EQ(t.algorithm, CollectiveAlgorithm::InNetwork);
  EXPECT_NEAR(to_seconds(t.time), 40e-6 + 2 * 4e-6 + 9.0 / 8 * 1e-3, 2e-9);
  const CollectiveTime off = on_links(CollectiveKind::AllReduce, 360'000'000, eight,
                                      parse_cluster("h100:8,intra-reduce=off"));
  EXPECT_EQ(off.algorithm, CollectiveAlgorithm::Ring);
  // Two ranks cannot be summed in the switch.
  EXPECT_EQ(on_links(CollectiveKind::AllReduce, 360'000'000, {.ranks = 2, .per_node = 2},
                     parse_cluster("h100:8"))
                .algorithm,
            CollectiveAlgorithm::Ring);
}

// Rings have twice as many hops as ranks, trees twice as many as levels; a ring carries (p-1)/p of
// what a tree carries.
TEST(PhysicalLinks, NodesReduceSmallVectorsByTreesAndLargeOnesByRings) {
  const Cluster c = parse_cluster("a100:128,inter=200GB/s");
  const GroupShape one_a_node{.ranks = 16, .per_node = 1, .neighbours = 8, .stride = 8};
  const CollectiveTime small = on_links(CollectiveKind::AllReduce, 1'000'000, one_a_node, c);
  EXPECT_EQ(small.algorithm, CollectiveAlgorithm::Tree);
  // With flags in every 128 bytes, the latency is half, and 8 of the bytes are flags.
  EXPECT_NEAR(to_seconds(small.time), 60e-6 + 4 * 8e-6 + 2 * 1e6 / 12.5e9 * 128 / 120, 2e-9);
  const CollectiveTime large = on_links(CollectiveKind::AllReduce, 1'000'000'000, one_a_node, c);
  EXPECT_EQ(large.algorithm, CollectiveAlgorithm::Ring);
  EXPECT_NEAR(to_seconds(large.time), 60e-6 + 2 * 15 * 8e-6 + 2 * 15.0 / 16 * 1e9 / 12.5e9, 2e-9);
  EXPECT_EQ(large.level, 1u);
}

// With flags in every 16 bytes, the latency is a fifth, and twice the bytes are sent.
TEST(PhysicalLinks, TheSmallestWaitLeast) {
  const CollectiveTime t = on_links(CollectiveKind::AllReduce, 1000, {.ranks = 8, .per_node = 8},
                                    parse_cluster("a100:8"));
  EXPECT_NEAR(to_seconds(t.time), 40e-6 + 14 * 0.8e-6 + 2 * 7.0 / 8 * 2000 / 240e9, 2e-9);
}

TEST(PhysicalLinks, ARingOfWholeNodesHopsInsideAndBetweenThem) {
  const Cluster c = parse_cluster("a100:128,inter=200GB/s");
  const CollectiveTime t =
      on_links(CollectiveKind::AllGather, 1'000'000'000, {.ranks = 128, .per_node = 8}, c);
  const double hops = (128 - 16) * 4e-6 + 15 * 8e-6;
  EXPECT_NEAR(to_seconds(t.time), 60e-6 + hops + 127.0 / 128 * 1e9 / 100e9, 2e-9);
}

TEST(PhysicalLinks, ActivationsReachMoreOfTheNetworkThanState) {
  const Cluster c = parse_cluster("a100:16,inter=200GB/s");
  GroupShape sixteen{.ranks = 16, .per_node = 8};
  const auto wire = [&] {
    return to_seconds(on_links(CollectiveKind::AllReduce, 2'000'000'000, sixteen, c).time -
                      on_links(CollectiveKind::AllReduce, 1'000'000'000, sixteen, c).time);
  };
  EXPECT_NEAR(wire(), 2 * 15.0 / 16 * 1e9 / 100e9, 1e-8);
  sixteen.traffic = Traffic::Activations;
  EXPECT_NEAR(wire(), 2 * 15.0 / 16 * 1e9 / 180e9, 1e-8);
}

// SHARP: bytes go up and come down once, whatever the number of nodes.
TEST(PhysicalLinks, ANetworkThatAddsUpCarriesEveryByteOnce) {
  const GroupShape one_a_node{.ranks = 16, .per_node = 1, .neighbours = 8, .stride = 8};
  const CollectiveTime t = on_links(CollectiveKind::AllReduce, 1'000'000'000, one_a_node,
                                    parse_cluster("a100:128,inter=200GB/s,inter-reduce=on"));
  EXPECT_EQ(t.algorithm, CollectiveAlgorithm::InNetwork);
  EXPECT_NEAR(to_seconds(t.time), 60e-6 + 2 * 8e-6 + 1e9 / 12.5e9, 2e-9);
}

TEST(PhysicalLinks, ExchangesArePostedAtOnce) {
  Parameters p = round_figures();
  p[Parameter::AllToAll] = 0.5;
  const Cluster c = parse_cluster("a100:16,inter=200GB/s");
  const CollectiveTime t =
      physical_collective(CollectiveKind::AllToAll, {16'000'000}, {.ranks = 16, .per_node = 8}, c,
                          link_terms(c.device, p));
  // 7 MB inside at 150 GB/s, 8 MB outside at 12.5 GB/s.
  EXPECT_NEAR(to_seconds(t.time), 60e-6 + 8e-6 + 8e6 / 12.5e9, 2e-9);
}

TEST(PhysicalLinks, AMessageBetweenStages) {
  Parameters p = round_figures();
  p[Parameter::Send] = 0.8, p[Parameter::SendStart] = 100;
  const Cluster c = parse_cluster("a100:16,inter=200GB/s");
  const LinkTerms terms = link_terms(c.device, p);
  EXPECT_NEAR(to_seconds(physical_transfer({20'000'000}, c, 1, terms)), 100e-6 + 8e-6 + 20e6 / 20e9,
              2e-9);
  EXPECT_NEAR(to_seconds(physical_transfer({24'000'000}, c, 0, terms)),
              100e-6 + 4e-6 + 24e6 / 240e9, 2e-9);
  EXPECT_EQ(physical_transfer({0}, c, 1, terms), 0ns);
}

// The share belongs to the links: whatever a cluster joins by the links of an H200, it reaches as
// much of them, and a quicker link carries more, also where its share is the lower one.
TEST(PhysicalLinks, ReductionsReachAShareOfTheLinks) {
  Parameters p;
  p[Parameter::BusVolta] = 0.8, p[Parameter::BusAmpere] = 0.85, p[Parameter::BusHopper] = 1,
  p[Parameter::BusBlackwell] = 0.81;
  const double rates[] = {10e9, 25e9, 150e9, 200e9, 300e9, 400e9, 450e9, 600e9, 900e9, 1800e9};
  const LinkTerms hopper = link_terms(device("h200-sxm"), p);
  EXPECT_DOUBLE_EQ(hopper.bus({450e9}), 1);
  EXPECT_DOUBLE_EQ(hopper.bus({900e9}), 0.81);
  EXPECT_DOUBLE_EQ(hopper.bus({std::sqrt(450e9 * 900e9)}), 0.9);
  EXPECT_DOUBLE_EQ(hopper.bus({10e9}), 0.8);
  for (const char* name : {"v100-sxm3-32", "a100-sxm-80", "b200-hgx", "h800-sxm", "a100-pcie-80"}) {
    const LinkTerms terms = link_terms(device(name), p);
    for (std::size_t i = 0; i < std::size(rates); ++i) {
      const double share = terms.bus({rates[i]});
      if (i > 0) {
        EXPECT_GT(share * rates[i], terms.bus({rates[i - 1]}) * rates[i - 1]) << name;
      }
      if (std::string_view(name) == "b200-hgx") {
        EXPECT_DOUBLE_EQ(share, hopper.bus({rates[i]}));
      }
    }
  }
}

// Ratio of what a ring moves over a link to the vector, the definition of nccl-tests.
TEST(BusBandwidth, IsWhatALinkOfARingCarries) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllToAll, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::Broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::Reduce, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::Gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllReduce, 1), 0);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth({8'000'000}, 1ms).value, 8e9);
}

TEST(PhysicalLinks, OtherDevicesTakeTheirOwnShares) {
  const Cluster c = parse_cluster("mi300x:8");
  const LinkTerms terms = link_terms(c.device, round_figures());
  EXPECT_EQ(terms.bus({100e9}), c.device.efficiency.scale_up.value);
  EXPECT_EQ(terms.bus({1000e9}), c.device.efficiency.scale_up.value);
  EXPECT_EQ(terms.state, c.device.efficiency.network.value);
}

TEST(PhysicalLinks, GrowWithBytesAndOneRankTakesNoTime) {
  EXPECT_TRUE(rc::check([] {
    const testing::AnyCollective any = testing::any_collective();
    RC_ASSERT(on_links(any.kind, any.bytes, any.group, any.cluster).time <=
              on_links(any.kind, any.more, any.group, any.cluster).time);
    RC_ASSERT(on_links(any.kind, any.more, {}, any.cluster).time == 0ns);
  }));
}

}  // namespace
}  // namespace trainyard
