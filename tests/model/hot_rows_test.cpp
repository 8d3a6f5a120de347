// Tests which rows a cache of the most frequent ones holds, and how many look-ups go to them.
#include "core/model/hot_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/random.h"

namespace trainyard {
namespace {

std::vector<std::int64_t> zipf_lookups(std::int64_t count, std::int64_t rows, double exponent,
                                       std::uint64_t seed) {
  const Random random(seed);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(zipf_row(random.uniform(static_cast<std::uint64_t>(i)), rows, exponent));
  return ids;
}

double share_in(const std::vector<std::int64_t>& held, const std::vector<std::int64_t>& lookups) {
  const auto hits = std::count_if(lookups.begin(), lookups.end(), [&](std::int64_t id) {
    return std::binary_search(held.begin(), held.end(), id);
  });
  return static_cast<double>(hits) / static_cast<double>(lookups.size());
}

// A cache of one row in a hundred, filled from look-ups that came before those that it serves.
TEST(HotRows, OnePercentOfTheRowsServesMostLookUps) {
  for (const std::int64_t rows : {100000, 1000000}) {
    const std::vector<std::int64_t> held =
        most_frequent(zipf_lookups(1000000, rows, 1.05, 1), rows / 100);
    const double hit = share_in(held, zipf_lookups(200000, rows, 1.05, 2)),
                 predicted = zipf_share(rows / 100, rows, 1.05);
    EXPECT_GE(hit, 0.5) << rows;
    EXPECT_NEAR(hit, predicted, 0.05) << rows;
  }
}

TEST(HotRows, SharesFollowTheLaw) {
  EXPECT_NEAR(zipf_share(10, 1000, 1), std::log(11.0) / std::log(1001.0), 1e-12);
  EXPECT_EQ(zipf_share(0, 1000, 1.2), 0);
  EXPECT_EQ(zipf_share(1000, 1000, 1.2), 1);
  EXPECT_EQ(zipf_share(5000, 1000, 0.5), 1);
  // The limit towards an exponent of 1 is the logarithm.
  EXPECT_NEAR(zipf_share(10, 1000, 1 + 1e-6), zipf_share(10, 1000, 1), 1e-5);
}

TEST(HotRows, LookUpsReachAsManyRowsAsPredicted) {
  for (const double exponent : {0.8, 1.0, 1.05, 1.5})
    for (const std::int64_t first : {100, 5000}) {
      constexpr int kSeeds = 32;
      double mean = 0;
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        std::set<std::int64_t> reached;
        for (const std::int64_t id : zipf_lookups(4096, 20000, exponent, seed))
          if (id < first) reached.insert(id);
        mean += static_cast<double>(reached.size()) / kSeeds;
      }
      EXPECT_NEAR(zipf_reached(first, 20000, exponent, 4096), mean, 0.02 * mean)
          << exponent << " " << first;
    }
  EXPECT_NEAR(zipf_reached(1000, 1000, 1, 1), 1, 1e-9);
  EXPECT_NEAR(zipf_reached(1000, 1000, 1, 1000000), 1000, 1e-3);
}

TEST(HotRows, HoldsTheMostFrequentRows) {
  const std::vector<std::int64_t> ids = {7, 3, 7, 9, 3, 7, 1};
  EXPECT_EQ(most_frequent(ids, 1), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(most_frequent(ids, 2), (std::vector<std::int64_t>{3, 7}));
  EXPECT_EQ(most_frequent(ids, 3), (std::vector<std::int64_t>{1, 3, 7}));
  EXPECT_EQ(most_frequent(ids, 9), (std::vector<std::int64_t>{1, 3, 7, 9}));
  EXPECT_TRUE(most_frequent({}, 3).empty());
}

TEST(HotRows, NoOtherRowsServeMoreLookUps) {
  EXPECT_TRUE(rc::check("hot rows", [] {
    const auto ids =
        *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 12));
    const std::int64_t capacity = *rc::gen::inRange<std::int64_t>(0, 14);
    const std::vector<std::int64_t> held = most_frequent(ids, capacity);
    std::map<std::int64_t, int> counts;
    for (const std::int64_t id : ids) ++counts[id];
    RC_ASSERT(held.size() == std::min(counts.size(), static_cast<std::size_t>(capacity)));
    RC_ASSERT(std::is_sorted(held.begin(), held.end()));
    int least = INT32_MAX;
    for (const std::int64_t row : held) least = std::min(least, counts.at(row));
    for (const auto& [row, count] : counts)
      RC_ASSERT(std::binary_search(held.begin(), held.end(), row) || held.empty() ||
                count <= least);
  }));
}

}  // namespace
}  // namespace trainyard
