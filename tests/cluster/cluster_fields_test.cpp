#include "core/cluster/cluster_fields.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/io/documents/cluster_json.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

std::string field_of(const Cluster& cluster, const std::string& key) {
  for (const ClusterField& field : cluster_fields(cluster))
    if (field.key == key) return field.value + " (" + field.source + ")";
  return "none";
}

std::string field_refusal(const Cluster& cluster, const char* key, const char* value) {
  return testing::refusal([&] { with_cluster_field(cluster, key, value); });
}

TEST(ClusterFields, EveryFieldReadsBackAsItIs) {
  for (const char* words : {"h100-sxm:64", "a100-sxm-80:16,rail", "tpu-v5p:64", "mi300x:8"}) {
    const Cluster cluster = parse_cluster(words);
    for (const ClusterField& field : testing::non_empty(cluster_fields(cluster))) {
      const Cluster same = with_cluster_field(cluster, field.key, field.value);
      EXPECT_EQ(cluster_fields(same).size(), cluster_fields(cluster).size()) << field.key;
      for (const ClusterField& now : testing::non_empty(cluster_fields(same)))
        if (now.key == field.key) {
          EXPECT_EQ(now.value, field.value) << words << " " << field.key;
          if (!field.source.empty()) {
            EXPECT_EQ(now.source, kAssumedSource) << field.key;
          }
        }
      EXPECT_EQ(read_cluster(write_cluster(same), "again"), same) << field.key;
    }
  }
}

TEST(ClusterFields, ANumberThatIsTypedIsAssumed) {
  const Cluster cluster = parse_cluster("h100-sxm:64");
  const Cluster larger = with_cluster_field(cluster, "memory", "192 GiB");
  EXPECT_EQ(field_of(larger, "memory"), "192 GiB (assumed)");
  EXPECT_EQ(field_of(larger, "memory.bandwidth"), field_of(cluster, "memory.bandwidth"));
  EXPECT_EQ(larger.name, "own h100-sxm:64");
}

TEST(ClusterFields, NodesAndDevicesMultiply) {
  Cluster cluster = with_cluster_field(parse_cluster("h100-sxm:64"), "nodes", "3");
  EXPECT_EQ(cluster.count, 24);
  cluster = with_cluster_field(cluster, "per-node", "4");
  EXPECT_EQ(cluster.count, 12);
  EXPECT_EQ(nodes(cluster), 3);
  EXPECT_FALSE(has_errors(check(cluster)));
}

TEST(ClusterFields, TheLastDevicesMayBeOfOtherKinds) {
  const Cluster cluster = parse_cluster("h100-sxm:64");
  EXPECT_EQ(field_of(cluster, "mixed"), "none ()");
  const Cluster mixed = with_cluster_field(cluster, "mixed", "a100-sxm-80:16");
  EXPECT_EQ(field_of(mixed, "mixed"), "a100-sxm-80:16 ()");
  ASSERT_EQ(mixed.mixed.size(), 1u);
  EXPECT_EQ(mixed.count, 64);
  EXPECT_TRUE(with_cluster_field(mixed, "mixed", "none").mixed.empty());
  EXPECT_NE(field_refusal(cluster, "mixed", "a100-sxm-80:12").find("do not fill nodes of 8"),
            std::string::npos);
  EXPECT_NE(field_refusal(mixed, "nodes", "2").find("at least one must be left"),
            std::string::npos);
}

TEST(ClusterFields, DevicesMayBeUnequallyFast) {
  const Cluster cluster = parse_cluster("h100-sxm:64");
  EXPECT_EQ(field_of(cluster, "slow"), "0 ()");
  EXPECT_EQ(field_of(cluster, "throttled"), "1 ()");
  const Cluster slow = with_cluster_field(cluster, "slow", "0.05");
  EXPECT_EQ(slow.slowness, (Slowness{.lasting = 0.05}));
  EXPECT_EQ(
      with_cluster_field(with_cluster_field(slow, "slow-link", "4"), "slow-seed", "9").slowness,
      (Slowness{.lasting = 0.05, .slow_link = 4, .seed = 9}));
  for (const char* words : {"h100-sxm:64,slow=0.05,throttled=1.3",
                            "h100-sxm:64,port-buffer=1MB,port-marks=1kB,jitter=0.1,slow-link=4,"
                            "slow-seed=9"})
    EXPECT_EQ(read_cluster(write_cluster(parse_cluster(words)), "again"), parse_cluster(words));
  EXPECT_NE(field_refusal(cluster, "jitter", "2").find("jitter is the spread of a logarithm"),
            std::string::npos);
  EXPECT_NE(field_refusal(cluster, "throttled", "0.5").find("throttled is 1 to 1000"),
            std::string::npos);
  EXPECT_NE(field_refusal(cluster, "slow-seed", "-1").find("at least 0"), std::string::npos);
}

TEST(ClusterFields, EveryWiringHasSizesThatFollowTheNodes) {
  const auto wired = [](const Cluster& cluster, const char* key, const char* value) {
    return with_cluster_field(cluster, key, value);
  };
  Cluster cluster = wired(parse_cluster("h100-sxm:64"), "network.kind", "torus");
  EXPECT_EQ(cluster.levels[1].dimensions, (std::vector<int>{4, 2}));
  cluster = wired(cluster, "network.sizes", "2x2x2");
  EXPECT_EQ(cluster.levels[1].dimensions, (std::vector<int>{2, 2, 2}));
  EXPECT_NE(field_refusal(cluster, "network.sizes", "3x3").find("cluster network.sizes"),
            std::string::npos);
  cluster = wired(cluster, "nodes", "16");
  EXPECT_EQ(cluster.levels[1].dimensions, (std::vector<int>{4, 4}));
  cluster = wired(cluster, "network.kind", "dragonfly");
  EXPECT_EQ(cluster.levels[1].topology, Topology::Dragonfly);
  EXPECT_EQ(cluster.levels[1].dimensions.size(), 3u);
  cluster = wired(cluster, "network.kind", "rail");
  EXPECT_TRUE(cluster.levels[1].dimensions.empty());
  cluster = wired(cluster, "intra.kind", "cube-mesh");
  EXPECT_EQ(cluster.levels[0].dimensions, std::vector<int>{6});
  cluster = wired(cluster, "intra.sizes", "4");
  EXPECT_EQ(cluster.levels[0].dimensions, std::vector<int>{4});
  EXPECT_NE(field_refusal(cluster, "per-node", "4").find("torus or cube mesh"), std::string::npos);
}

TEST(ClusterFields, WrongValuesAreSentences) {
  const Cluster cluster = parse_cluster("h100-sxm:64");
  EXPECT_EQ(field_refusal(cluster, "nodes", "0"),
            "cluster nodes: expected a whole number from 1 to 10000000, found 0");
  EXPECT_EQ(field_refusal(cluster, "memry", "1 GiB"),
            "cluster memry: expected a field of the cluster, found \"memry\"; did you mean "
            "\"memory\"?");
  EXPECT_NE(field_refusal(cluster, "memory", "80").find("cluster memory"), std::string::npos);
  EXPECT_NE(field_refusal(cluster, "share.product", "1.5").find("at most 1"), std::string::npos);
  EXPECT_NE(field_refusal(cluster, "network.kind", "ral").find("did you mean \"rail\""),
            std::string::npos);
  EXPECT_NE(field_refusal(parse_cluster("tpu-v5p:64"), "per-node", "8").find("torus"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
