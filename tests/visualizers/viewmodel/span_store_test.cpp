#include "visualizers/viewmodel/span_store.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"
#include "tests/support/refusal.h"
#include "tests/visualizers/viewmodel/span_rows.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing_rows::random_row;
using testing_rows::store_of;

TEST(SpanStore, WindowHoldsExactlyTheSpansThatTouchIt) {
  EXPECT_TRUE(rc::check([] {
    const auto row = random_row(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 400));
    const SpanStore store = store_of({row});
    const Instant from{*rc::gen::inRange<std::int64_t>(-1'100'000, 5'000'000)};
    const Instant to = from + Duration{*rc::gen::inRange<std::int64_t>(0, 2'000'000)};
    const SpanWindow seen = window(store, 0, from, to);
    for (std::uint32_t i = 0; i < row.size(); ++i)
      RC_ASSERT((i >= seen.first && i < seen.last) ==
                (from < to && testing_rows::touches(row[i], from, to)));
  }));
}

TEST(SpanStore, LongestIsTheFirstOfTheLongest) {
  EXPECT_TRUE(rc::check([] {
    const auto row = random_row(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(1, 6000));
    const SpanStore store = store_of({random_row(1, 37), row});
    const auto first = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(row.size()));
    const auto last =
        *rc::gen::inRange<std::uint32_t>(first + 1, static_cast<std::uint32_t>(row.size()) + 1);
    std::uint32_t naive = first;
    for (std::uint32_t i = first; i < last; ++i)
      if (row[i].end - row[i].start > row[naive].end - row[naive].start) naive = i;
    RC_ASSERT(longest_of(store, 1, first, last) == naive);
  }));
}

TEST(SpanStore, BusyTimeOfAnyIntervalIsExact) {
  EXPECT_TRUE(rc::check([] {
    const auto row = random_row(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(0, 2000));
    const SpanStore store = store_of({random_row(1, 70), row});
    const Instant from{*rc::gen::inRange<std::int64_t>(-1'100'000, 20'000'000)};
    const Instant to = from + Duration{*rc::gen::inRange<std::int64_t>(0, 20'000'000)};
    BusyTimes naive{};
    for (const RowSpan& span : row)
      naive[span.category] +=
          std::max<std::int64_t>(0, (std::min(span.end, to) - std::max(span.start, from)).count());
    RC_ASSERT(busy_times(store, 1, from, to) == naive);
  }));
}

TEST(SpanStore, OneSpanWiderThanTheIntervalCountsTheInterval) {
  const SpanStore store = store_of({{{0ns, 1000ns, 0, 3}}});
  EXPECT_EQ(busy_times(store, 0, 200ns, 300ns)[3], 100);
  EXPECT_EQ(busy_time(store, 0, 300ns, 200ns), 0ns);
}

TEST(SpanStore, TakesAtMost26BytesASpan) {
  std::vector<std::vector<RowSpan>> rows;
  for (std::uint32_t i = 0; i < 16; ++i) rows.push_back(random_row(i, 20'000));
  EXPECT_LE(resident_bytes(store_of(rows)), 26u * 16 * 20'000);
}

TEST(SpanStore, RefusesWhatIsNotARow) {
  SpanStore store;
  add_row(store, {});
  const auto message = [&](const std::vector<RowSpan>& row) {
    return testing::refusal([&] { add_row(store, row); });
  };
  EXPECT_EQ(message({{5ns, 4ns, 0, 0}}),
            "row 1, span 0: a span ends before it starts; expected end >= start");
  EXPECT_EQ(message({{0ns, 4ns, 0, 0}, {3ns, 5ns, 0, 0}}),
            "row 1, span 1: a span starts before the one before it ends; expected spans in order, "
            "side by side");
  EXPECT_EQ(message({{0ns, 4ns, 0, 8}}),
            "row 1, span 0: category 8 does not exist; expected 0 to 7");
  EXPECT_EQ(message({{0ns, Instant::max(), 0, 0}}), "row 1, span 0: a time is beyond 73 years");
  EXPECT_EQ(store.rows.size(), 1u);
}

}  // namespace
}  // namespace trainyard
