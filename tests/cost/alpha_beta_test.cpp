#include "core/cost/collectives/alpha_beta.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace trainyard {
namespace {

constexpr std::int64_t k1024 = 1024;
constexpr LinkCost kEthernet{.alpha = 5e-6, .beta = 1 / 12.5e9};  // 100 Gb/s, 5 us
constexpr std::int64_t kSquare[] = {32, 32};

// Expected values in milliseconds from the closed forms worked out by hand for 1,024 ranks.
TEST(AlphaBeta, RingIsDominatedByItsHops) {
  EXPECT_NEAR(ring_all_reduce(10e3, k1024, kEthernet) * 1e3, 10.2, 0.05);
  EXPECT_NEAR(ring_all_reduce(1e6, k1024, kEthernet) * 1e3, 10.4, 0.05);
  EXPECT_NEAR(ring_all_reduce(100e6, k1024, kEthernet) * 1e3, 26.2, 0.05);
  EXPECT_NEAR(ring_all_reduce(400e6, k1024, kEthernet) * 1e3, 74, 0.5);
}

TEST(AlphaBeta, RecursiveDoublingIsBestForTenKilobytes) {
  EXPECT_NEAR(recursive_doubling_all_reduce(10e3, k1024, kEthernet) * 1e3, 0.058, 0.0005);
}

TEST(AlphaBeta, RabenseifnerKeepsBothTermsSmall) {
  EXPECT_NEAR(halving_doubling_all_reduce(1e6, k1024, kEthernet) * 1e3, 0.26, 0.005);
  EXPECT_NEAR(halving_doubling_all_reduce(100e6, k1024, kEthernet) * 1e3, 16.1, 0.05);
  EXPECT_NEAR(halving_doubling_all_reduce(400e6, k1024, kEthernet) * 1e3, 64, 0.5);
}

TEST(AlphaBeta, TorusOf32By32) {
  EXPECT_NEAR(torus_all_reduce(100e6, kSquare, kEthernet) * 1e3, 16.6, 0.05);
  EXPECT_NEAR(torus_all_reduce(400e6, kSquare, kEthernet) * 1e3, 65, 0.5);
}

TEST(AlphaBeta, FourPodsOfTensorProcessorsAsRingAndAsMesh) {
  constexpr LinkCost link{.alpha = 1e-6, .beta = 1 / 60e9};
  constexpr std::int64_t pods[] = {32, 128};
  const double ring = ring_all_reduce(100e6, 4096, link),
               mesh = torus_all_reduce(100e6, pods, link);
  EXPECT_NEAR(ring * 1e3, 11.5, 0.05);
  EXPECT_NEAR(mesh * 1e3, 3.65, 0.005);
  EXPECT_LE(mesh / ring, 0.35);
}

// In powers of two every term is exact, so the whole table can be held to its formula.
TEST(AlphaBeta, EveryFormulaAtEightRanks) {
  constexpr LinkCost c{.alpha = 1, .beta = 0.5, .gamma = 0.25};
  constexpr double n = 16;
  EXPECT_EQ(ring_all_reduce(n, 8, c), 2 * 7 * 1 + 2 * n * 7 / 8 * 0.5 + n * 7 / 8 * 0.25);
  EXPECT_EQ(recursive_doubling_all_reduce(n, 8, c), 3 * (1 + n * 0.5 + n * 0.25));
  EXPECT_EQ(halving_doubling_all_reduce(n, 8, c),
            2 * 3 * 1 + 2 * n * 7 / 8 * 0.5 + n * 7 / 8 * 0.25);
  EXPECT_EQ(binomial_tree_all_reduce(n, 8, c), 2 * 3 * (1 + n * 0.5) + 3 * n * 0.25);
  EXPECT_EQ(double_tree_all_reduce(n, 8, c), 2 * 3 * 1 + 2 * n * 0.5 + n * 0.25);
  EXPECT_EQ(hierarchical_all_reduce(1, 2, 4), 7);
  EXPECT_EQ(ring_reduce_scatter(n, 8, c), 7 * 1 + n * 7 / 8 * (0.5 + 0.25));
  EXPECT_EQ(ring_all_gather(n, 8, c), 7 * 1 + n * 7 / 8 * 0.5);
  EXPECT_EQ(recursive_halving_reduce_scatter(n, 8, c), 3 * 1 + n * 7 / 8 * (0.5 + 0.25));
  EXPECT_EQ(recursive_doubling_all_gather(n, 8, c), 3 * 1 + n * 7 / 8 * 0.5);
  EXPECT_EQ(tree_broadcast(n, 8, c), 3 * (1 + n * 0.5));
  EXPECT_EQ(pipelined_tree_broadcast(n, 8, c), 3 * 1 + n * 0.5);
  EXPECT_EQ(scatter_all_gather_broadcast(n, 8, c), (3 + 7) * 1 + 2 * n * 7 / 8 * 0.5);
  EXPECT_EQ(tree_scatter(n, 8, c), 3 * 1 + n * 7 / 8 * 0.5);
  EXPECT_EQ(tree_gather(n, 8, c), 3 * 1 + n * 7 / 8 * 0.5);
  EXPECT_EQ(tree_reduce(n, 8, c), 3 * (1 + n * 0.5 + n * 0.25));
  EXPECT_EQ(pipelined_tree_reduce(n, 8, c), 3 * 1 + n * (0.5 + 0.25));
  EXPECT_EQ(ring_reduce(n, 8, c), (7 + 3) * 1 + n * 7 / 8 * (2 * 0.5 + 0.25));
  EXPECT_EQ(halving_reduce(n, 8, c), (3 + 3) * 1 + n * 7 / 8 * (2 * 0.5 + 0.25));
  EXPECT_EQ(pairwise_all_to_all(n, 8, c), 7 * (1 + n / 8 * 0.5));
  EXPECT_EQ(bruck_all_to_all(n, 8, c), 3 * (1 + n / 2 * 0.5));
}

TEST(AlphaBeta, OneRankHasNobodyToTalkTo) {
  constexpr LinkCost c{.alpha = 1, .beta = 1, .gamma = 1};
  constexpr std::int64_t one[] = {1, 1};
  for (auto* form : {ring_all_reduce,
                     recursive_doubling_all_reduce,
                     halving_doubling_all_reduce,
                     binomial_tree_all_reduce,
                     double_tree_all_reduce,
                     ring_reduce_scatter,
                     ring_all_gather,
                     recursive_halving_reduce_scatter,
                     recursive_doubling_all_gather,
                     tree_broadcast,
                     pipelined_tree_broadcast,
                     scatter_all_gather_broadcast,
                     tree_scatter,
                     tree_gather,
                     tree_reduce,
                     pipelined_tree_reduce,
                     ring_reduce,
                     halving_reduce,
                     pairwise_all_to_all,
                     bruck_all_to_all})
    EXPECT_EQ(form(1e9, 1, c), 0);
  EXPECT_EQ(torus_all_reduce(1e9, one, c), 0);
}

TEST(AlphaBeta, RingGrowsWithBytesAndRanks) {
  EXPECT_TRUE(rc::check([] {
    const double n = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
    const auto p = *rc::gen::inRange<std::int64_t>(1, 100'000);
    const double now = ring_all_reduce(n, p, kEthernet);
    RC_ASSERT(ring_all_reduce(n + 1, p, kEthernet) >= now);
    RC_ASSERT(ring_all_reduce(n, p + 1, kEthernet) > now);
  }));
}

}  // namespace
}  // namespace trainyard
