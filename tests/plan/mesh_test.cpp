#include "core/plan/mesh.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace trainyard {
namespace {

Cluster nodes_of(std::int64_t per_node, std::int64_t count) {
  Cluster cluster;
  cluster.name = "test:" + std::to_string(count);
  cluster.count = count;
  cluster.levels = {{.name = "node", .size = per_node},
                    {.name = "network", .size = std::max(per_node, count)}};
  return cluster;
}

// 64 devices in nodes of 8: tp 4, cp 2, pp 2, dp 4.
Mesh mesh(std::string order = "tp-cp-ep-dp-pp") {
  return {.tp = 4, .cp = 2, .ep = 4, .dp = 4, .pp = 2, .order = std::move(order)};
}

void expect_shape(const GroupShape& shape, std::int64_t ranks, std::int64_t per_node,
                  std::int64_t neighbours, std::int64_t stride) {
  EXPECT_EQ(shape.ranks, ranks);
  EXPECT_EQ(shape.per_node, per_node);
  EXPECT_EQ(shape.neighbours, neighbours);
  EXPECT_EQ(shape.stride, stride);
}

TEST(Mesh, TheDefaultOrderKeepsTensorRanksTogether) {
  const Cluster c = nodes_of(8, 64);
  expect_shape(group_shape(mesh(), Group::Tensor, c), 4, 4, 2, 1);
  expect_shape(group_shape(mesh(), Group::Context, c), 2, 2, 4, 4);
  expect_shape(group_shape(mesh(), Group::Data, c), 8, 2, 4, 4);
  expect_shape(group_shape(mesh(), Group::Expert, c), 4, 2, 4, 4);
  expect_shape(group_shape(mesh(), Group::ExpertData, c), 2, 1, 8, 16);
  expect_shape(group_shape(mesh(), Group::Pipeline, c), 2, 1, 8, 32);
}

TEST(Mesh, AHybridShardIsTheNearPartOfTheReplicas) {
  const Cluster c = nodes_of(8, 64);
  expect_shape(group_shape(mesh(), Group::Shard, c, 2), 2, 2, 4, 4);
  expect_shape(group_shape(mesh(), Group::Replica, c, 2), 4, 1, 8, 8);
}

TEST(Mesh, TheOrderDecidesWhoSitsTogether) {
  const Cluster c = nodes_of(8, 64);
  // dp fastest: ranks 0..3 are replicas, tensor ranks are 4 apart.
  const Mesh m = mesh("dp-tp-cp-ep-pp");
  expect_shape(group_shape(m, Group::Tensor, c), 4, 2, 4, 4);
  // dp 4 at stride 1, cp 2 at stride 16: 0..3 and 16..19, five apart in the mean, rounded up.
  expect_shape(group_shape(m, Group::Data, c), 8, 4, 2, 3);
  const Mesh pipeline_first = mesh("pp-tp-cp-ep-dp");
  expect_shape(group_shape(pipeline_first, Group::Pipeline, c), 2, 2, 4, 1);
  EXPECT_EQ(pipeline_level(pipeline_first, c), 0u);
  EXPECT_EQ(pipeline_level(mesh(), c), 1u);
}

TEST(Mesh, ExpertsAfterDataTakeTheFarPart) {
  const Cluster c = nodes_of(8, 64);
  const Mesh m = mesh("tp-cp-dp-ep-pp");
  expect_shape(group_shape(m, Group::Expert, c), 4, 1, 8, 8);
  expect_shape(group_shape(m, Group::ExpertData, c), 2, 2, 4, 4);
}

TEST(Mesh, WholeExpertsTakeTensorRanksToo) {
  const Cluster c = nodes_of(8, 64);
  Mesh m = mesh();
  m.etp = 1, m.ep = 8;
  expect_shape(group_shape(m, Group::Expert, c), 8, 8, 1, 1);
  expect_shape(group_shape(m, Group::ExpertData, c), 4, 1, 8, 8);
  expect_shape(group_shape(m, Group::Data, c), 8, 2, 4, 4);
  m.order = "tp-cp-dp-ep-pp";  // the far part: 4 replicas sit together
  expect_shape(group_shape(m, Group::Expert, c), 8, 2, 4, 4);
  expect_shape(group_shape(m, Group::ExpertData, c), 4, 4, 2, 1);
  m.order = "tp-cp-ep-pp-dp", m.ep = 16;  // tp 4 x cp 2 in a node, dp 2 beyond the two stages
  expect_shape(group_shape(m, Group::Expert, c), 16, 8, 1, 2);
  m.etp = 4;  // as tp says
  EXPECT_EQ(expert_pool(m), 8);
}

TEST(Mesh, GroupsThatStraddleNodesCountAsSpread) {
  // tp 6 in nodes of 8: ranks 6..11 are 2 here and 4 there; no group does worse than 2 a node.
  const Mesh m{.tp = 6, .cp = 1, .ep = 1, .dp = 4, .pp = 1};
  expect_shape(group_shape(m, Group::Tensor, nodes_of(8, 24)), 6, 2, 4, 1);
}

TEST(Mesh, RepresentativesAreTheFirstDevicesOfTheirStage) {
  EXPECT_EQ(representative(mesh(), 0), 0);
  EXPECT_EQ(representative(mesh(), 1), 32);
  EXPECT_EQ(representative(mesh("pp-tp-cp-ep-dp"), 1), 1);
}

TEST(Mesh, AnOrderNamesEveryAxisOnce) {
  EXPECT_TRUE(check_rank_order("pp-dp-ep-cp-tp").empty());
  for (const char* wrong : {"", "tp", "tp-cp-dp-pp", "tp-tp-ep-dp-pp", "tp-cp-ep-dp-pp-", "tp cp",
                            "tp-cp-ep-dp-xp", "tp-cp-ep-dp-pp-tp", "----------------"})
    EXPECT_EQ(check_rank_order(wrong).size(), 1u) << wrong;
  EXPECT_EQ(check_rank_order("tp-dp")[0].message,
            "expected tp, cp, ep, dp and pp once each, fastest first, as in tp-cp-ep-dp-pp, found "
            "\"tp-dp\"");
  EXPECT_THROW(group_shape(mesh("tp"), Group::Tensor, nodes_of(8, 64)), Error);
}

// Members by brute force: the ranks that share all coordinates outside the group's axes.
TEST(Mesh, ShapesAgreeWithCountingWhereDegreesArePowersOfTwo) {
  EXPECT_TRUE(rc::check([] {
    const auto power = [] { return 1 << *rc::gen::inRange(0, 3); };
    std::vector<std::string> axes = {"tp", "cp", "dp", "pp"};
    for (std::size_t i = axes.size(); i > 1; --i)
      std::swap(axes[i - 1], axes[*rc::gen::inRange<std::size_t>(0, i)]);
    Mesh m{.tp = power(), .cp = power(), .ep = 1, .dp = power(), .pp = power()};
    m.order = axes[0] + "-" + axes[1] + "-ep-" + axes[2] + "-" + axes[3];
    const std::int64_t count = std::int64_t{m.tp} * m.cp * *m.dp * m.pp;
    const Cluster cluster = nodes_of(std::min<std::int64_t>(count, power()), count);
    std::vector<std::int64_t> members;
    for (std::int64_t rank = 0; rank < count; ++rank) {
      bool same = true;
      std::int64_t rest = rank;
      for (const std::string& axis : axes) {
        const int n = axis == "tp" ? m.tp : axis == "cp" ? m.cp : axis == "dp" ? *m.dp : m.pp;
        if (axis != "cp" && axis != "dp") same = same && rest % n == 0;
        rest /= n;
      }
      if (same) members.push_back(rank);
    }
    const GroupShape shape = group_shape(m, Group::Data, cluster);
    RC_ASSERT(shape.ranks == static_cast<std::int64_t>(members.size()));
    const auto near = std::count_if(members.begin(), members.end(),
                                    [&](auto r) { return r < devices_per_node(cluster); });
    RC_ASSERT(shape.per_node == near);
    RC_ASSERT(shape.neighbours * near == devices_per_node(cluster));
  }));
}

}  // namespace
}  // namespace trainyard
