#include "core/cluster/cluster.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace trainyard {
namespace {

using namespace std::chrono_literals;

std::string cluster_refusal(std::string_view text) {
  try {
    parse_cluster(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
    return error.what();
  }
  return "accepted";
}

TEST(Cluster, NodesAndNetworkOfTheDevice) {
  const Cluster c = parse_cluster("h100-sxm:64");
  EXPECT_EQ(c.count, 64);
  ASSERT_EQ(c.levels.size(), 2u);
  EXPECT_EQ(c.levels[0].name, "node");
  EXPECT_EQ(c.levels[0].size, 8);
  EXPECT_EQ(c.levels[0].bandwidth.value.value, 450e9);
  EXPECT_EQ(c.levels[0].latency.value, 4us);
  EXPECT_EQ(c.levels[1].name, "network");
  EXPECT_EQ(c.levels[1].size, 64);
  EXPECT_EQ(c.levels[1].bandwidth.value.value, 50e9);
  EXPECT_EQ(c.levels[1].topology, Topology::FatTree);
  EXPECT_EQ(devices_per_node(c), 8);
  EXPECT_EQ(nodes(c), 8);
  EXPECT_TRUE(check(c).empty());
}

TEST(Cluster, LevelsByExtent) {
  const Cluster c = parse_cluster("h100:64");
  EXPECT_EQ(level_of(c, 1), 0u);
  EXPECT_EQ(level_of(c, 8), 0u);
  EXPECT_EQ(level_of(c, 9), 1u);
  EXPECT_EQ(level_of(c, 1000), 1u);
}

TEST(Cluster, InterIsTheWholeNodes) {
  const Cluster c =
      parse_cluster("a100-sxm-40:512,per-node=4,inter=80GB/s,intra=250GB/s,inter-latency=2.5us");
  EXPECT_EQ(c.levels[1].bandwidth.value.value, 20e9);
  EXPECT_EQ(c.levels[0].bandwidth.value.value, 250e9);
  EXPECT_EQ(c.levels[1].latency.value, 2500ns);
  EXPECT_EQ(c.levels[1].bandwidth.source, "given");
  EXPECT_EQ(c.name, "a100-sxm-40:512,per-node=4,intra=250GB/s,inter=80GB/s,inter-latency=2.5us");
}

TEST(Cluster, WhatSaysNoMoreThanTheDefaultIsForgotten) {
  const Cluster c =
      parse_cluster("a100:512,per-node=8,inter=1600Gb/s,fat-tree,oversubscription=1,memory=80GiB");
  EXPECT_EQ(c.name, "a100-sxm-80:512");
  EXPECT_EQ(c, parse_cluster("a100-sxm-80:512"));
}

TEST(Cluster, SmallerThanANode) {
  const Cluster c = parse_cluster("h100:4");
  EXPECT_EQ(devices_per_node(c), 4);
  EXPECT_EQ(nodes(c), 1);
  EXPECT_EQ(level_of(c, 4), 0u);
}

TEST(Cluster, TorusesAreAsSquareAsTheyCanBe) {
  EXPECT_EQ(parse_cluster("tpu-v5e:256").levels[0].dimensions, (std::vector<int>{16, 16}));
  EXPECT_EQ(parse_cluster("tpu-v5e:32").levels[0].dimensions, (std::vector<int>{4, 8}));
  EXPECT_EQ(parse_cluster("tpu-v5p:64").levels[0].dimensions, (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(parse_cluster("tpu-v5e:32,torus=2x16").levels[0].dimensions, (std::vector<int>{2, 16}));
  EXPECT_EQ(nodes(parse_cluster("tpu-v5e:512")), 2);
}

TEST(Cluster, ATorusOfAllDevicesJoinsSeveralPods) {
  const Cluster pods = parse_cluster("tpu-v3:4096,torus=128x32");
  EXPECT_EQ(nodes(pods), 1);
  EXPECT_EQ(pods.levels[0].dimensions, (std::vector<int>{128, 32}));
  EXPECT_EQ(parse_cluster(pods.name).levels[0].dimensions, pods.levels[0].dimensions);
  EXPECT_EQ(nodes(parse_cluster("tpu-v3:4096")), 4);
  EXPECT_EQ(cluster_refusal("tpu-v3:4096,torus=128x16"),
            "torus=128x16 joins 2048, but there are 1024 devices in a node to join");
}

TEST(Cluster, RacksAreRentedInParts) {
  EXPECT_EQ(devices_per_node(parse_cluster("gb200:144")), 72);
  EXPECT_EQ(devices_per_node(parse_cluster("gb200:128")), 64);
  EXPECT_EQ(parse_cluster("gb200:128").name, "gb200-gpu:128");
}

TEST(Cluster, MemoryAndPriceCanBeGiven) {
  const Cluster c = parse_cluster("h100:8,memory=94GiB,price=2.5USD/h");
  EXPECT_EQ(c.device.memory.value, 94_GiB);
  EXPECT_EQ(c.device.price_low->value, 2.5);
  EXPECT_EQ(c.device.price_high->source, "given");
}

TEST(Cluster, RefusalsAreSentences) {
  EXPECT_EQ(cluster_refusal(""), "a cluster is written DEVICE:COUNT, as h100-sxm:64, not \"\"");
  EXPECT_EQ(cluster_refusal("h100"),
            "a cluster is written DEVICE:COUNT, as h100-sxm:64, not \"h100\"");
  EXPECT_EQ(cluster_refusal("h100x:8"), "no device is called \"h100x\"; did you mean \"h100\"?");
  EXPECT_EQ(cluster_refusal("h100:0"), "a cluster has 1 to 10000000 devices, not 0");
  EXPECT_EQ(cluster_refusal("h100:-8"), "a cluster has 1 to 10000000 devices, not -8");
  EXPECT_EQ(cluster_refusal("h100:10000008"), "a cluster has 1 to 10000000 devices, not 10000008");
  EXPECT_EQ(
      cluster_refusal("h100:12"),
      "12 devices do not fill nodes of 8; write a count of 8 or 16, or per-node= a divisor of 12");
  EXPECT_EQ(
      cluster_refusal("h100:16,per-node=5"),
      "16 devices do not fill nodes of 5; write a count of 15 or 20, or per-node= a divisor of 16");
  EXPECT_EQ(cluster_refusal("h100:16,per-node=0"), "per-node must be at least 1, not 0");
  EXPECT_EQ(cluster_refusal("h100:16,pernode=8"),
            "no cluster option is called \"pernode\"; did you mean \"per-node\"?");
  EXPECT_EQ(cluster_refusal("h100:16,rail,rail"), "rail is given twice");
  EXPECT_EQ(cluster_refusal("h100:16,rail=2"), "rail takes no value");
  EXPECT_EQ(cluster_refusal("h100:16,inter"), "inter needs a value: inter=...");
  EXPECT_EQ(cluster_refusal("h100:16,inter=0GB/s"), "inter: inter must be above 0, not \"0GB/s\"");
  EXPECT_EQ(cluster_refusal("h100:16,price=3"),
            "price: expected US dollars an hour such as \"2.5USD/h\", found \"3\"");
  EXPECT_EQ(cluster_refusal("h100:16,rail,fat-tree"),
            "fat-tree: the network is either rail or fat-tree, not both");
  EXPECT_EQ(cluster_refusal("h100:16,inter-reduce=maybe"),
            "inter-reduce: expected on or off, found \"maybe\"");
  EXPECT_EQ(cluster_refusal("h100:16,rail,oversubscription=2"),
            "oversubscription belongs to a fat-tree, and this network is a rail");
  EXPECT_EQ(cluster_refusal("h100:16,oversubscription=0.5"),
            "oversubscription: oversubscription must be 1 to 1000, not \"0.5\"");
  EXPECT_EQ(cluster_refusal("h100:16,torus=3x3"),
            "torus=3x3 joins 9, but there are 2 nodes to join");
  EXPECT_EQ(cluster_refusal("tpu-v5e:16,torus=4x5"),
            "torus=4x5 joins 20, but there are 16 devices in a node to join");
  EXPECT_EQ(
      cluster_refusal("h100:16,torus=2x1x1x1"),
      "torus: expected one to three extents of at least 1 such as \"16x16\", found \"2x1x1x1\"");
}

TEST(Cluster, ABareNumberIsRefusedWithWhatToWrite) {
  EXPECT_EQ(cluster_refusal("h100:16,inter=200"),
            "inter: expected a bandwidth such as \"25 GB/s\", found \"200\", which has no unit: "
            "write 200 GB/s or 200 "
            "GiB/s");
}

TEST(Cluster, RefusalsSayWhere) {
  try {
    parse_cluster("h100:0");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(describe(error), "cluster \"h100:0\": a cluster has 1 to 10000000 devices, not 0");
  }
}

TEST(Cluster, CheckListsAllThatIsWrong) {
  Cluster c = parse_cluster("h100:64");
  c.levels[0].bandwidth.value = {0};
  c.levels[1].size = 60;
  c.count = 65;
  const Diagnostics found = check(c);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].message, "level \"node\" needs a bandwidth above 0");
  EXPECT_EQ(found[1].message,
            "level \"network\" joins 60 devices, which is no multiple of the 8 below it");
  EXPECT_EQ(found[2].message, "the top level joins 60 devices, but there are 65");
}

// Bandwidths are written down in whole bytes per second.
TEST(Cluster, ABandwidthCanBeCounted) {
  Cluster c = parse_cluster("h100:64");
  for (const double most : {1e18, 1e15}) {
    c.levels[0].bandwidth.value = {most};
    EXPECT_TRUE(check(c).empty()) << most;
  }
  for (const double more : {1.1e18, 1e30, 1e300}) {
    c.levels[0].bandwidth.value = {more};
    const Diagnostics found = check(c);
    ASSERT_EQ(found.size(), 1u) << more;
    EXPECT_EQ(found[0].message,
              "level \"node\" needs a bandwidth of at most 1e18 bytes per second");
  }
}

// The canonical name is complete: reading it gives the same cluster and the same name.
TEST(Cluster, NamesRoundTrip) {
  EXPECT_TRUE(rc::check([] {
    const auto all = devices();
    const Device& d = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto per_node = *rc::gen::inRange<std::int64_t>(1, 64);
    const auto count = per_node * *rc::gen::inRange<std::int64_t>(1, 2000);
    std::string text = d.id + ":" + std::to_string(count) + ",per-node=" + std::to_string(per_node);
    if (*rc::gen::arbitrary<bool>())
      text +=
          ",inter=" + std::to_string(*rc::gen::inRange<std::int64_t>(1, 2'000'000'000'000)) + "B/s";
    if (*rc::gen::arbitrary<bool>())
      text += ",intra=" + std::to_string(*rc::gen::inRange<int>(1, 10'000)) + "." + "37Gb/s";
    if (*rc::gen::arbitrary<bool>())
      text += ",intra-latency=" + std::to_string(*rc::gen::inRange<int>(1, 1'000'000)) + "ns";
    if (*rc::gen::arbitrary<bool>())
      text +=
          ",memory=" + std::to_string(*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000)) + "B";
    if (*rc::gen::arbitrary<bool>())
      text += *rc::gen::element(std::string(",rail"), std::string(",fat-tree"));
    const Cluster once = parse_cluster(text);
    const Cluster again = parse_cluster(once.name);
    RC_ASSERT(again == once);
    RC_ASSERT(again.name == once.name);
  }));
}

TEST(Cluster, AnyTextIsReadOrRefused) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::element(
        'h', '1', '0', ':', ',', '=', '8', 'x', 'r', '-', '.', 'G', 'B', '/', 's', 'e', '\0'));
    try {
      parse_cluster("h100:8," + text);
      parse_cluster(text);
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == Error::Kind::InvalidInput);
    }
  }));
}

TEST(Cluster, SwitchesThatAddUpAreTheDevicesOwnOrAsked) {
  const auto reduces = [](std::string_view text) {
    const Cluster c = parse_cluster(text);
    return std::pair{c.levels[0].reduces, c.levels[1].reduces};
  };
  EXPECT_EQ(reduces("a100:16"), std::pair(false, false));
  EXPECT_EQ(reduces("h100-sxm:16"), std::pair(true, false));
  EXPECT_EQ(reduces("h100-sxm:16,intra-reduce=off,inter-reduce=on"), std::pair(false, true));
  EXPECT_EQ(parse_cluster("h100-sxm:16,intra-reduce=on,inter-reduce=off").name, "h100-sxm:16");
  EXPECT_EQ(parse_cluster("h100-sxm:16,inter-reduce=on").name, "h100-sxm:16,inter-reduce=on");
}

TEST(Cluster, SlownessIsReadAndWrittenAsItIs) {
  const std::string words =
      "h100-sxm:16,port-buffer=1MB,port-marks=100kB,slow=0.05,jitter=0.02,throttled=1.3,"
      "slow-link=4,slow-seed=7";
  const Cluster cluster = parse_cluster(words);
  EXPECT_EQ(cluster.name, words);
  EXPECT_EQ(cluster.slowness, (Slowness{0.05, 0.02, 1.3, 4, 7}));
  EXPECT_EQ(cluster.levels[1].port_buffer, Bytes{1'000'000});
  EXPECT_EQ(cluster.levels[1].port_marks, Bytes{100'000});
  EXPECT_EQ(parse_cluster(cluster.name), cluster);
  // Words that make nothing slow change nothing.
  EXPECT_EQ(parse_cluster("h100-sxm:16,throttled=1,slow-link=1,slow-seed=1"),
            parse_cluster("h100-sxm:16"));
}

TEST(Cluster, BuffersAreThoseOfSwitchesBetweenNodes) {
  const auto is_refused = [](const Cluster& cluster) { return has_errors(check(cluster)); };
  Cluster cluster = parse_cluster("h100-sxm:16,port-buffer=1MB");
  EXPECT_FALSE(is_refused(cluster));
  std::swap(cluster.levels[0].port_buffer, cluster.levels[1].port_buffer);
  EXPECT_TRUE(is_refused(cluster));
  EXPECT_THROW(parse_cluster("h100-sxm:64,torus=2x4,port-buffer=1MB"), Error);
  EXPECT_NO_THROW(parse_cluster("h100-sxm:64,torus=2x4"));
  EXPECT_NO_THROW(parse_cluster("h100-sxm:64,rail,port-buffer=1MB"));
}

}  // namespace
}  // namespace trainyard
