#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/cost/cost_model.h"
#include "tests/cost/every_collective.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::kEveryCollective;

CollectiveTime run(CollectiveKind kind, std::int64_t bytes, const GroupShape& group,
                   const Cluster& cluster) {
  return roofline_cost_model()->collective(kind, {bytes}, group, cluster);
}

double limit(CollectiveKind kind, std::int64_t bytes, const GroupShape& group,
             const Cluster& cluster) {
  return to_seconds(datasheet_cost_model()->collective(kind, {bytes}, group, cluster).time);
}

TEST(Collective, OneRankAndNoBytesTakeNoTime) {
  const Cluster c = parse_cluster("h100:64");
  for (const CollectiveKind kind : kEveryCollective) {
    EXPECT_EQ(run(kind, 1'000'000, {}, c).time, 0ns);
    EXPECT_EQ(run(kind, 0, {.ranks = 64, .per_node = 8}, c).time, 0ns);
  }
}

// Eight A100, 1 GiB: published 8,193 us.
TEST(Collective, WithinANodeAtItsBusBandwidth) {
  const CollectiveTime t =
      run(CollectiveKind::AllReduce, 1 << 30, {.ranks = 8, .per_node = 8}, parse_cluster("a100:8"));
  const double wire = 2.0 * 7 / 8 * (1 << 30) / (0.77 * 300e9);
  EXPECT_NEAR(to_seconds(t.time), 37e-6 + 6 * 4e-6 + wire, 2e-9);
  EXPECT_NEAR(to_seconds(t.time), 8193e-6, 0.02 * 8193e-6);
  EXPECT_EQ(t.algorithm, CollectiveAlgorithm::HalvingDoubling);
  EXPECT_EQ(t.level, 0u);
}

TEST(Collective, SmallMessagesGoByRecursiveDoubling) {
  const CollectiveTime t =
      run(CollectiveKind::AllReduce, 1024, {.ranks = 8, .per_node = 8}, parse_cluster("a100:8"));
  EXPECT_EQ(t.algorithm, CollectiveAlgorithm::RecursiveDoubling);
  EXPECT_NEAR(to_seconds(t.time), 37e-6 + 3 * (4e-6 + 1024 / (0.77 * 300e9)), 2e-9);
}

TEST(Collective, RanksThatAreNoPowerOfTwoTakeRingOrTree) {
  const CollectiveTime t =
      run(CollectiveKind::AllReduce, 1 << 30, {.ranks = 6, .per_node = 6}, parse_cluster("a100:8"));
  EXPECT_EQ(t.algorithm, CollectiveAlgorithm::Ring);
}

// With one member per node, a single port is used; all members of a node together use all of its
// ports.
TEST(Collective, MembersOfANodeShareItsPorts) {
  const Cluster c = parse_cluster("h100:64");
  const double one =
      limit(CollectiveKind::AllGather, 8'000'000'000, {.ranks = 8, .per_node = 1, .stride = 8}, c);
  EXPECT_NEAR(one, 7.0 / 8 * 8e9 / 50e9, 1e-6);
  const double all =
      limit(CollectiveKind::AllGather, 8'000'000'000, {.ranks = 64, .per_node = 8}, c);
  EXPECT_NEAR(all, 63.0 / 64 * 8e9 / (8 * 50e9), 1e-6);
}

TEST(Collective, NeighboursDoNotSlowEachOtherUntilPortsRunOut) {
  const Cluster c = parse_cluster("h100:64");
  const GroupShape alone{.ranks = 8, .per_node = 1, .neighbours = 1, .stride = 8};
  GroupShape eight = alone, sixteen = alone;
  eight.neighbours = 8;
  sixteen.neighbours = 16;
  const auto time = [&](const GroupShape& g) {
    return limit(CollectiveKind::AllReduce, 1'000'000'000, g, c);
  };
  EXPECT_EQ(time(alone), time(eight));
  EXPECT_NEAR(time(sixteen), 2 * time(alone), 1e-6);
}

TEST(Collective, OversubscriptionDividesWhatLeavesANode) {
  const GroupShape group{.ranks = 8, .per_node = 1, .stride = 8};
  const double full =
      limit(CollectiveKind::AllReduce, 1'000'000'000, group, parse_cluster("h100:64"));
  const double half = limit(CollectiveKind::AllReduce, 1'000'000'000, group,
                            parse_cluster("h100:64,oversubscription=2"));
  EXPECT_NEAR(half, 2 * full, 1e-6);
}

TEST(Collective, AMeshGivesAGroupOnlyItsOwnLinks) {
  const Cluster c = parse_cluster("mi300x:8");
  EXPECT_NEAR(limit(CollectiveKind::AllReduce, 448'000'000, {.ranks = 8, .per_node = 8}, c),
              2.0 * 7 / 8 * 1e-3, 1e-8);
  EXPECT_NEAR(limit(CollectiveKind::AllReduce, 448'000'000, {.ranks = 2, .per_node = 2}, c),
              2.0 / 2 * 7e-3, 1e-8);
}

TEST(Collective, ATorusGivesAGroupTheDimensionsItSpans) {
  const Cluster c = parse_cluster("tpu-v5e:256");  // 16 x 16, 200 GB/s over both dimensions
  const auto time = [&](std::int64_t ranks, std::int64_t stride) {
    return limit(CollectiveKind::AllReduce, 200'000'000,
                 {.ranks = ranks, .per_node = ranks, .stride = stride}, c);
  };
  EXPECT_NEAR(time(256, 1), 2.0 * 255 / 256 * 1e-3, 1e-8);
  EXPECT_NEAR(time(16, 1), 2.0 * 15 / 16 * 2e-3, 1e-8);   // a row
  EXPECT_NEAR(time(16, 16), 2.0 * 15 / 16 * 2e-3, 1e-8);  // a column
  EXPECT_NEAR(time(64, 1), 2.0 * 63 / 64 * 1e-3, 1e-8);   // four rows
}

TEST(Collective, AllToAllIsBoundByTheCutOfATorusAndByTheNetwork) {
  // 256 ranks send n each: 128 n / 2 bytes over a cut of 2 x 16 links of 50 GB/s.
  const GroupShape pod{.ranks = 256, .per_node = 256};
  EXPECT_NEAR(limit(CollectiveKind::AllToAll, 200'000'000, pod, parse_cluster("tpu-v5e:256")),
              128 * 0.2e9 / 2 / (32 * 50e9) * 255 / 256, 1e-6);
  const GroupShape wide{.ranks = 64, .per_node = 8};
  EXPECT_NEAR(limit(CollectiveKind::AllToAll, 64'000'000, wide, parse_cluster("h100:64")),
              56e6 / 50e9, 1e-7);
}

TEST(Collective, GrowsWithBytes) {
  EXPECT_TRUE(rc::check([] {
    const testing::AnyCollective any = testing::any_collective();
    RC_ASSERT(run(any.kind, any.bytes, any.group, any.cluster).time <=
              run(any.kind, any.more, any.group, any.cluster).time);
  }));
}

TEST(Collective, ReduceScatterAndAllGatherTogetherAreNoFasterThanAllReduce) {
  EXPECT_TRUE(rc::check([] {
    const Cluster c = parse_cluster("h100:512");
    const auto per_node = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
    const GroupShape group{.ranks = per_node * *rc::gen::inRange<std::int64_t>(1, 65),
                           .per_node = per_node};
    const auto bytes = *rc::gen::inRange<std::int64_t>(1, 10'000'000'000);
    const Duration whole = run(CollectiveKind::AllReduce, bytes, group, c).time;
    const Duration parts = run(CollectiveKind::ReduceScatter, bytes, group, c).time +
                           run(CollectiveKind::AllGather, bytes, group, c).time;
    RC_ASSERT(whole <= parts + 2ns);
  }));
}

}  // namespace
}  // namespace trainyard
