#include "core/memory/best_fit.h"

#include <gtest/gtest.h>

#include "tests/memory/random_lives.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

// Bar B-MEM-06, on traces as training and as inference make them: training gives tensors back in
// the reverse order, which is easy, while branches do not.
TEST(BestFit, NothingOverlapsAndLittleIsLost) {
  const std::uint64_t n = testing::cases(10000, 1500);
  for (const auto trace : {&testing::trace, &testing::inference_trace}) {
    std::uint64_t close = 0, close_by_size = 0;
    for (std::uint64_t seed = 0; seed < n; ++seed) {
      const std::vector<Lifetime> lives = trace(seed);
      const Placement1D placed = place(lives);
      ASSERT_EQ(testing::wrong_with(lives, placed.offsets, placed.reach, 64_B), "")
          << "seed " << seed;
      ASSERT_GE(placed.reach, placed.lower_bound);
      close += 10 * placed.reach.value <= 12 * placed.lower_bound.value ? 1 : 0;
      const Placement1D by_size = best_fit(lives, FitOrder::BySize, 64_B);
      close_by_size += 10 * by_size.reach.value <= 12 * by_size.lower_bound.value ? 1 : 0;
    }
    EXPECT_GE(100 * close, 95 * n) << close << " of " << n;
    EXPECT_GE(100 * close_by_size, 95 * n) << close_by_size << " of " << n;
  }
}

TEST(BestFit, EveryOrderPlaces) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Lifetime> lives = testing::trace(seed);
    for (const FitOrder order : kFitOrders) {
      const Placement1D placed = best_fit(lives, order, 16_B);
      ASSERT_EQ(testing::wrong_with(lives, placed.offsets, placed.reach, 16_B), "")
          << to_string(order) << ", seed " << seed;
    }
  }
}

// The buffer that each order places first lies at 0.
TEST(BestFit, Orders) {
  const std::vector<Lifetime> lives = {
      {0, 1, 100_B}, {0, 4, 30_B}, {0, 9, 10_B}, {3, 9, 24_B}, {4, 5, 80_B}};
  const auto first = [&](FitOrder order) {
    const Placement1D placed = best_fit(lives, order, 1_B);
    std::vector<std::size_t> ground;
    for (std::size_t i = 0; i < lives.size(); ++i)
      if (placed.offsets[i] == 0_B) ground.push_back(i);
    return ground;
  };
  EXPECT_EQ(first(FitOrder::BySize), (std::vector<std::size_t>{0, 4}));
  EXPECT_EQ(first(FitOrder::BySizeThenBeginning), (std::vector<std::size_t>{0, 4}));
  EXPECT_EQ(first(FitOrder::ByArea), (std::vector<std::size_t>{3}));
  EXPECT_EQ(first(FitOrder::ByWidth), (std::vector<std::size_t>{2}));
  EXPECT_EQ(first(FitOrder::ByTotal), (std::vector<std::size_t>{1}));
  EXPECT_EQ(first(FitOrder::ByBeginning), (std::vector<std::size_t>{2}));
}

// Buffers, times and expected places of the planner's own tests; its last use is inclusive.
TEST(BestFit, AsTensorFlowLiteMicro) {
  const std::vector<Lifetime> medium = {
      {0, 2, 10_B}, {1, 3, 20_B}, {2, 4, 30_B}, {3, 5, 40_B}, {0, 2, 50_B}};
  const Placement1D placed = best_fit(medium, FitOrder::BySize, 1_B);
  EXPECT_EQ(placed.offsets, (std::vector<Bytes>{50_B, 70_B, 40_B, 0_B, 0_B}));
  EXPECT_EQ(placed.reach, 90_B);
  const std::vector<Lifetime> overlap = {{0, 2, 100_B}, {2, 4, 50_B}, {1, 3, 20_B}};
  EXPECT_EQ(best_fit(overlap, FitOrder::BySize, 1_B).reach, 120_B);

  // MobileNet for person detection: buffer i of the chain lives while steps i and i + 1 run.
  std::vector<Lifetime> person = {{0, 30, 9216_B}};
  const std::int64_t chain[] = {18432, 18432, 36864, 9216, 18432, 18432, 18432, 4608, 9216, 9216,
                                9216,  2304,  4608,  4608, 4608,  4608,  4608,  4608, 4608, 4608,
                                4608,  4608,  4608,  1152, 2304,  2304,  2304,  256,  3};
  for (std::int64_t i = 0; i < std::ssize(chain); ++i)
    person.push_back({i, i + 2, Bytes{chain[i]}});
  const Placement1D of_person = best_fit(person, FitOrder::BySize, 1_B);
  EXPECT_EQ(of_person.reach, of_person.lower_bound);
  EXPECT_EQ(of_person.reach, 64512_B);
}

TEST(BestFit, AnEndAndABeginningMeet) {
  const std::vector<Lifetime> lives = {{0, 5, 100_B}, {5, 9, 100_B}, {4, 6, 64_B}};
  const Placement1D placed = place(lives);
  EXPECT_EQ(placed.offsets, (std::vector<Bytes>{0_B, 0_B, 128_B}));
  EXPECT_EQ(placed.reach, 192_B);
  EXPECT_EQ(placed.lower_bound, 192_B);
}

TEST(BestFit, WhatIsNeverThereTakesNoPlace) {
  const std::vector<Lifetime> lives = {{3, 3, 1000_B}, {0, 9, 0_B}, {0, 9, 1_B}};
  const Placement1D placed = place(lives);
  EXPECT_EQ(placed.reach, 64_B);
  EXPECT_EQ(placed.lower_bound, 64_B);
  EXPECT_EQ(place({}).reach, 0_B);
}

// The largest first, into the lowest gap that holds it.
TEST(BestFit, FillsGaps) {
  const std::vector<Lifetime> lives = {{0, 2, 256_B}, {0, 9, 192_B}, {2, 9, 128_B}, {2, 9, 64_B}};
  const Placement1D placed = place(lives);
  EXPECT_EQ(placed.offsets, (std::vector<Bytes>{0_B, 256_B, 0_B, 128_B}));
  EXPECT_EQ(placed.reach, placed.lower_bound);
}

}  // namespace
}  // namespace trainyard
