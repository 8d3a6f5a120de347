#include "app/workspace/scenario/cluster_wiring.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "core/cluster/wiring.h"

namespace trainyard {
namespace {

TEST(ClusterWiring, AChoiceTakesThePlaceOfWhatTheWordsNamed) {
  const std::string words = "h100-sxm:64,dragonfly=4x4x3,inter=200GB/s";
  EXPECT_EQ(with_network(words, "rail", ""), "h100-sxm:64,inter=200GB/s,rail");
  EXPECT_EQ(with_network(words, "torus", "4x2"), "h100-sxm:64,inter=200GB/s,torus=4x2");
  EXPECT_EQ(with_network("h100-sxm:64,torus=4x2", "fat-tree", ""), "h100-sxm:64");
  EXPECT_EQ(with_network("h100-sxm:64,oversubscription=2", "dragonfly", "2x4x1"),
            "h100-sxm:64,dragonfly=2x4x1");
  EXPECT_EQ(with_network("h100-sxm:64,oversubscription=2", "fat-tree", ""),
            "h100-sxm:64,oversubscription=2");
  EXPECT_EQ(with_network("tpu-v4:64,torus=4x4x4", "rail", "", true), "tpu-v4:64,torus=4x4x4,rail");
  EXPECT_EQ(with_cube_mesh("v100-sxm2-32:8,cube-mesh=6", 4), "v100-sxm2-32:8,cube-mesh=4");
  EXPECT_EQ(with_cube_mesh("v100-sxm2-32:8,cube-mesh=6", 0), "v100-sxm2-32:8");
}

// Every kind that is offered can be read with the sizes that are proposed for it.
RC_GTEST_PROP(ClusterWiring, ProposedSizesAreLegal, ()) {
  const auto nodes = *rc::gen::inRange(2, 200), each = *rc::gen::element(1, 2, 4, 8);
  const std::string words =
      "h100-sxm:" + std::to_string(nodes * each) + ",per-node=" + std::to_string(each);
  const Cluster cluster = parse_cluster(words);
  for (const std::string& kind : network_kinds(cluster)) {
    const std::string sizes = proposed_sizes(cluster, kind);
    if (kind == "dragonfly" && sizes.empty()) continue;
    const Cluster wired = parse_cluster(with_network(words, kind, sizes));
    RC_ASSERT(std::string(to_string(wired.levels[1].topology)) == kind);
    RC_ASSERT(extents_text(wired.levels[1].dimensions) == sizes);
  }
}

TEST(ClusterWiring, DevicesOfANodeOfEightMayBeACubeMesh) {
  EXPECT_TRUE(may_be_cube_mesh(parse_cluster("v100-sxm2-32:8")));
  EXPECT_TRUE(may_be_cube_mesh(parse_cluster("v100-sxm2-32:8,cube-mesh=6")));
  EXPECT_FALSE(may_be_cube_mesh(parse_cluster("v100-sxm2-32:8,per-node=4")));
  EXPECT_FALSE(may_be_cube_mesh(parse_cluster("tpu-v4:64")));
  EXPECT_FALSE(may_be_cube_mesh(parse_cluster("h100-sxm:8"))) << "its switches add up";
  EXPECT_TRUE(network_kinds(parse_cluster("h100-sxm:8")).empty());
  const std::vector<std::string> kinds = network_kinds(parse_cluster("h100-sxm:64"));
  EXPECT_EQ(kinds, (std::vector<std::string>{"fat-tree", "rail", "torus", "dragonfly"}));
}

}  // namespace
}  // namespace trainyard
