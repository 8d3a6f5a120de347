// Tests how wide microbatches are where they are as wide as their longest document: against counts
// over all ways of drawing them, and against formulas.
#include "core/model/open_widths.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace trainyard {
namespace {

std::int64_t width_of(OpenWidths open, std::int64_t longest) { return open.width(longest); }

TEST(OpenWidths, AreTheNextMultipleOrBucketAndNeverMoreThanTheSequence) {
  EXPECT_EQ(width_of({.sequence = 100}, 37), 37);
  EXPECT_EQ(width_of({.sequence = 100, .multiple = 8}, 37), 40);
  EXPECT_EQ(width_of({.sequence = 100, .multiple = 8}, 40), 40);
  EXPECT_EQ(width_of({.sequence = 100, .multiple = 8}, 99), 100);
  EXPECT_EQ(width_of({.sequence = 100, .buckets = {16, 32, 64}}, 16), 16);
  EXPECT_EQ(width_of({.sequence = 100, .buckets = {16, 32, 64}}, 17), 32);
  EXPECT_EQ(width_of({.sequence = 100, .buckets = {16, 32, 64}}, 65), 100);
  EXPECT_EQ(width_of({.sequence = 50, .buckets = {16, 32, 64}}, 40), 50);
}

// Counts the widths of the microbatches of every ordered way to draw a step without replacement.
std::map<std::int64_t, double> counted(const OpenWidths& open, std::vector<std::int64_t> lengths,
                                       DrawnSamples drawn) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::map<std::int64_t, double> shares;
  double all = 0;
  do {
    std::vector<std::int64_t> step;
    for (std::int64_t s = 0; s < drawn.step; ++s)
      step.push_back(lengths[order[static_cast<std::size_t>(s)]]);
    if (open.by_length) std::sort(step.rbegin(), step.rend());
    for (auto at = step.begin(); at != step.end(); at += drawn.micro, ++all)
      ++shares[open.width(*std::max_element(at, at + drawn.micro))];
  } while (std::next_permutation(order.begin(), order.end()));
  for (auto& [width, share] : shares) share /= all;
  return shares;
}

TEST(OpenWidths, SharesAreThoseOfAllWaysToDrawAStep) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t micro = *rc::gen::inRange<std::int64_t>(1, 4),
                       step = micro * *rc::gen::inRange<std::int64_t>(1, 6 / micro + 1);
    auto lengths =
        *rc::gen::container<std::vector<std::int64_t>>(6, rc::gen::inRange<std::int64_t>(1, 20));
    OpenWidths open{.sequence = 20, .multiple = *rc::gen::inRange<std::int64_t>(1, 6)};
    if (*rc::gen::arbitrary<bool>()) open.buckets = {4, 9, 12};
    open.by_length = *rc::gen::arbitrary<bool>();
    find_shares(open, lengths, {micro, step});
    std::map<std::int64_t, double> wanted = counted(open, lengths, {micro, step});
    double sum = 0;
    for (const auto& [width, share] : open.shares) {
      sum += share;
      RC_ASSERT(std::abs(share - wanted[static_cast<std::int64_t>(width)]) < 1e-9);
    }
    RC_ASSERT(std::abs(sum - 1) < 1e-12);
  }));
}

// The largest of b lengths that are drawn from 1 to n is b (n + 1) / (b + 1) in the mean.
TEST(OpenWidths, TheMeanOfTheLargestOfAFewIsThatOfOrderStatistics) {
  std::vector<std::int64_t> lengths(113);
  std::iota(lengths.begin(), lengths.end(), 1);
  for (const std::int64_t micro : {1, 2, 8}) {
    OpenWidths open{.sequence = 113};
    find_shares(open, lengths, {micro, 8});
    EXPECT_NEAR(open.mean_width(),
                static_cast<double>(micro * 114) / static_cast<double>(micro + 1), 1e-9);
  }
  // Where a step is sorted, the k-th smallest of 8 is k 114 / 9: a microbatch of 4 has the fourth
  // and the last.
  OpenWidths sorted{.sequence = 113, .by_length = true};
  find_shares(sorted, lengths, {4, 8});
  EXPECT_NEAR(sorted.mean_width(), (4 + 8) * 114.0 / 9 / 2, 1e-9);
}

// A step that has every document twice leaves nothing to chance.
TEST(OpenWidths, AStepOfWholeEpochsIsCertain) {
  OpenWidths open{.sequence = 10, .by_length = true};
  find_shares(open, {2, 5, 9}, {2, 6});
  ASSERT_EQ(open.shares.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(open.shares[i].second, 1.0 / 3, 1e-12);
}

TEST(OpenWidths, ManyWidthsAreSomeWithTheirMean) {
  std::vector<std::int64_t> lengths(5000);
  std::iota(lengths.begin(), lengths.end(), 1);
  OpenWidths open{.sequence = 5000};
  find_shares(open, lengths, {1, 4});
  EXPECT_LE(open.shares.size(), 256u);
  EXPECT_NEAR(open.mean_width(), 2500.5, 1e-6);
}

}  // namespace
}  // namespace trainyard
