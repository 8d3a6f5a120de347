// Tests boosted trees on functions that are known.
#include "core/cost/kernels/boosted_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/base/random.h"

namespace trainyard {
namespace {

struct Drawn {
  FeatureTable table{2, {}};
  std::vector<float> targets;
};

// A staircase over the first number, which the second only disturbs.
Drawn drawn_stairs(std::uint64_t seed, int rows) {
  const Random random(seed);
  Drawn drawn;
  for (int r = 0; r < rows; ++r) {
    const auto i = static_cast<std::uint64_t>(2 * r);
    const auto x = static_cast<float>(8 * random.uniform(i));
    const auto other = static_cast<float>(random.uniform(i + 1));
    const float row[] = {x, other};
    drawn.table.add(row);
    drawn.targets.push_back(std::ceil(x));
  }
  return drawn;
}

TEST(BoostedTrees, FindAStaircase) {
  const Drawn seen = drawn_stairs(1, 1000), unseen = drawn_stairs(2, 500);
  const std::vector<float> found = BoostedTrees(seen.table, seen.targets).predict(unseen.table);
  ASSERT_EQ(found.size(), 500u);
  int right = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    right += std::round(found[i]) == unseen.targets[i] ? 1 : 0;
  EXPECT_GE(right, 485) << "all but those at an edge between two samples";
}

TEST(BoostedTrees, AreTheSameAgainAndOnAnyThread) {
  const Drawn seen = drawn_stairs(3, 200);
  const BoostedTrees first(seen.table, seen.targets), second(seen.table, seen.targets);
  const std::vector<float> expected = first.predict(seen.table);
  EXPECT_EQ(second.predict(seen.table), expected);
  std::vector<std::vector<float>> found(3);
  std::vector<std::thread> threads;
  for (auto& one : found) threads.emplace_back([&] { one = first.predict(seen.table); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : found) EXPECT_EQ(one, expected);
}

TEST(BoostedTrees, RefuseRowsThatDoNotFit) {
  const Drawn seen = drawn_stairs(4, 20);
  EXPECT_THROW(BoostedTrees(seen.table, std::vector<float>(19)), std::invalid_argument);
  EXPECT_THROW(BoostedTrees(FeatureTable{2, {}}, std::vector<float>{}), std::invalid_argument);
  const BoostedTrees trees(seen.table, seen.targets);
  EXPECT_THROW(trees.predict(FeatureTable{3, {1, 2, 3}}), std::invalid_argument);
  EXPECT_TRUE(trees.predict(FeatureTable{2, {}}).empty());
  FeatureTable table{2, {}};
  const float row[] = {1};
  EXPECT_THROW(table.add(row), std::invalid_argument);
}

}  // namespace
}  // namespace trainyard
