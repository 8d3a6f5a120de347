#include "visualizers/viewmodel/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "tests/visualizers/viewmodel/span_rows.h"
#include "visualizers/viewmodel/length_histogram.h"
#include "visualizers/viewmodel/span_index.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing_rows::random_row;
using testing_rows::store_of;

TEST(Statistics, OfAHandfulOfSpans) {
  const SpanStore store =
      store_of({{{0ns, 10ns, 1, 0}, {10ns, 30ns, 1, 0}, {30ns, 60ns, 2, 1}, {60ns, 100ns, 1, 0}}});
  const auto found = range_statistics(store, {0}, 5ns, 80ns);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, 1u);
  EXPECT_EQ(found[0].count, 3u);
  EXPECT_EQ(found[0].sum, (10 - 5 + 20 + 80 - 60) * 1ns);
  EXPECT_EQ(found[0].shortest, 5ns);
  EXPECT_EQ(found[0].longest, 20ns);
  EXPECT_EQ(found[0].median, 20ns) << "second of 5, 20, 20";
  EXPECT_EQ(found[0].average(), 15ns);
  EXPECT_EQ(found[1].self, 30ns);
  EXPECT_DOUBLE_EQ(share_of_range(found[0].sum, 5ns, 80ns), 45.0 / 75);
}

TEST(Statistics, SelfIsWhatTheCoveringRowDoesNotHide) {
  SpanStore store;
  add_row(store, {{0ns, 50ns, 1, 0}, {70ns, 90ns, 1, 0}});
  add_row(store, {{10ns, 40ns, 2, 4}, {45ns, 75ns, 3, 4}}, 0);
  index_spans(store);
  const auto found = range_statistics(store, {1}, 0ns, 100ns);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, 2u);
  EXPECT_EQ(found[0].self, 0ns) << "fully hidden";
  EXPECT_EQ(found[1].self, 30ns - 5ns - 5ns);
}

TEST(Statistics, EqualTheLoop) {
  EXPECT_TRUE(rc::check([] {
    const auto row = random_row(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 700));
    const SpanStore store = store_of({random_row(3, 90), row});
    const Instant from{*rc::gen::inRange<std::int64_t>(-1'100'000, 5'000'000)};
    const Instant to = from + Duration{*rc::gen::inRange<std::int64_t>(1, 9'000'000)};
    std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<Duration>> naive;
    for (const RowSpan& span : row)
      if (testing_rows::touches(span, from, to))
        naive[{span.name, span.category}].push_back(std::min(span.end, to) -
                                                    std::max(span.start, from));
    const auto found = range_statistics(store, {1}, from, to);
    RC_ASSERT(found.size() == naive.size());
    RC_ASSERT(std::is_sorted(found.begin(), found.end(),
                             [](const auto& a, const auto& b) { return a.sum > b.sum; }));
    for (const NameStatistics& facts : found) {
      auto& lengths = naive[{facts.name, facts.category}];
      std::sort(lengths.begin(), lengths.end());
      Duration sum{};
      for (const Duration length : lengths) sum += length;
      RC_ASSERT(facts.count == lengths.size());
      RC_ASSERT(facts.sum == sum);
      RC_ASSERT(facts.self == sum);
      RC_ASSERT(facts.shortest == lengths.front());
      RC_ASSERT(facts.longest == lengths.back());
      RC_ASSERT(facts.median == lengths[(lengths.size() * 50 + 99) / 100 - 1]);
      RC_ASSERT(facts.p95 == lengths[(lengths.size() * 95 + 99) / 100 - 1]);
    }
  }));
}

// Percentiles of sums: the middle of the bucket in which the exact one lies.
bool near(Duration quick, Duration exact) {
  return std::abs(quick.count() - exact.count()) * 32 <= std::max(exact.count(), quick.count());
}

void expect_quick_as_exact(const SpanStore& store, const std::vector<std::uint32_t>& rows,
                           Instant from, Instant to) {
  const auto quick = quick_statistics(store, sum_names(store), rows, from, to);
  const auto exact = range_statistics(store, rows, from, to);
  RC_ASSERT(quick.size() == exact.size());
  for (std::size_t i = 0; i < quick.size(); ++i) {
    NameStatistics same = quick[i];
    RC_ASSERT(near(same.median, exact[i].median));
    RC_ASSERT(near(same.p95, exact[i].p95));
    same.median = exact[i].median;
    same.p95 = exact[i].p95;
    RC_ASSERT(same == exact[i]);
  }
}

TEST(Statistics, OfSumsAreThoseOfTheSpans) {
  EXPECT_TRUE(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const auto children = random_row(seed, *rc::gen::inRange(0, 9000));
    SpanStore store;
    add_row(store, children);
    add_row(store, random_row(seed + 1, *rc::gen::inRange(4000, 14'000)), 0);
    index_spans(store);
    const std::int64_t end = store.end.back();
    const Instant from{*rc::gen::inRange<std::int64_t>(-1000, end)};
    const Instant to = from + Duration{*rc::gen::inRange<std::int64_t>(1, 2 * end)};
    expect_quick_as_exact(store, {0, 1}, from, to);
    expect_quick_as_exact(store, {1}, Instant{-1}, Instant{end + 1});
  }));
}

TEST(Statistics, BlocksOfTooManyNamesAreLookedAt) {
  std::vector<RowSpan> row;
  for (std::uint32_t i = 0; i < 9000; ++i)
    row.push_back({Instant{10 * i}, Instant{10 * i + i % 7}, i < 4096 ? i % 65 : i % 64, 0});
  SpanStore store;
  add_row(store, row);
  index_spans(store);
  const NameSums sums = sum_names(store);
  ASSERT_EQ(sums.rows[0].blocks, (std::vector<std::uint32_t>{0, 0, 0, 64, 128, 192}));
  EXPECT_TRUE(rc::check([&] { expect_quick_as_exact(store, {0}, Instant{5}, Instant{89'000}); }));
}

TEST(Statistics, ABucketsMiddleIsAHalfOfItFromItsEnds) {
  for (int octave = 0; octave < 62; ++octave)
    for (const std::int64_t more : {0, 1, 3}) {
      const std::int64_t length = (std::int64_t{1} << octave) + ((more << octave) / 4);
      const std::int64_t middle = middle_of<kSummedBits>(bucket_of<kSummedBits>(length));
      EXPECT_LE(std::abs(middle - length), length / 32) << length;
      EXPECT_EQ(bucket_of<kSummedBits>(middle), bucket_of<kSummedBits>(length));
      EXPECT_LT(bucket_of<kSummedBits>(length), kBuckets<kSummedBits>);
    }
}

TEST(Statistics, AnEmptyRangeIsEmpty) {
  EXPECT_TRUE(range_statistics(store_of({random_row(1, 50)}), {0}, 5s, 5s).empty());
  EXPECT_EQ(share_of_range(1s, 5s, 5s), 0);
}

}  // namespace
}  // namespace trainyard
