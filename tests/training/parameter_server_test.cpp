// Tests the order in which replicas come to a server, how old their changes are, and what it makes
// of them.
#include "core/training/parameter_server.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace trainyard {
namespace {

std::vector<std::span<float>> spans(std::vector<std::vector<float>>& of) {
  return {of.begin(), of.end()};
}
std::vector<std::span<const float>> spans(const std::vector<std::vector<float>>& of) {
  return {of.begin(), of.end()};
}

TEST(ParameterServer, ReplicasInTurnHaveChangesThatAreAllOthersOld) {
  const Arrivals in_turn{4, false, 1};
  EXPECT_EQ(order_of(in_turn, 7), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(staleness_of(in_turn, 0), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(staleness_of(in_turn, 1), (std::vector<std::int64_t>{3, 3, 3, 3}));
}

// Two replicas in two rounds, by hand: 1 becomes 2 and then 5, from which each replica goes on.
TEST(ParameterServer, AddsChangesInTheirTurn) {
  std::vector<std::vector<float>> fetched = {{1}, {1}};
  const std::vector<std::vector<float>> first = {{2}, {4}};
  serve({2, false, 0}, 0, false, spans(fetched), spans(first));
  EXPECT_EQ(fetched, (std::vector<std::vector<float>>{{2}, {5}}));
  const std::vector<std::vector<float>> second = {{1.5f}, {5.25f}};
  serve({2, false, 0}, 1, false, spans(fetched), spans(second));
  EXPECT_EQ(fetched, (std::vector<std::vector<float>>{{4.5f}, {4.75f}}));
}

TEST(ParameterServer, DividesAChangeByItsStaleness) {
  std::vector<std::vector<float>> fetched(4, std::vector<float>{0});
  const std::vector<std::vector<float>> pushed(4, std::vector<float>{6});
  serve({4, false, 0}, 0, true, spans(fetched), spans(pushed));
  EXPECT_EQ(fetched, (std::vector<std::vector<float>>{{6}, {12}, {15}, {17}}));
}

// A replica waits for P - 1 others between two of its turns, on average over all of a round.
RC_GTEST_PROP(ParameterServer, ChangesAreAllOthersOldOnAverageInAnyOrder, ()) {
  const Arrivals any{*rc::gen::inRange<std::int64_t>(1, 65), *rc::gen::arbitrary<bool>(),
                     *rc::gen::arbitrary<std::uint64_t>()};
  const std::int64_t round = *rc::gen::inRange<std::int64_t>(1, 1000);
  std::vector<std::int64_t> order = order_of(any, round);
  RC_ASSERT(order == order_of(any, round));
  std::sort(order.begin(), order.end());
  for (std::int64_t r = 0; r < any.replicas; ++r)
    RC_ASSERT(order[static_cast<std::size_t>(r)] == r);
  const std::vector<std::int64_t> stale = staleness_of(any, round);
  RC_ASSERT(std::accumulate(stale.begin(), stale.end(), std::int64_t{0}) ==
            any.replicas * (any.replicas - 1));
  for (const std::int64_t one : stale) RC_ASSERT(one >= 0 && one <= 2 * (any.replicas - 1));
}

// Counts changes one by one, as a server would that knows nothing of rounds.
RC_GTEST_PROP(ParameterServer, StalenessIsWhatAServerWouldCount, ()) {
  const Arrivals any{*rc::gen::inRange<std::int64_t>(1, 9), true,
                     *rc::gen::arbitrary<std::uint64_t>()};
  std::vector<std::int64_t> fetched_at(static_cast<std::size_t>(any.replicas), 0);
  std::int64_t taken = 0;
  for (std::int64_t round = 0; round < 6; ++round) {
    const std::vector<std::int64_t> stale = staleness_of(any, round);
    for (const std::int64_t r : order_of(any, round)) {
      std::int64_t& fetched = fetched_at[static_cast<std::size_t>(r)];
      RC_ASSERT(taken - fetched == stale[static_cast<std::size_t>(r)]);
      fetched = ++taken;
    }
  }
}

// Whole numbers add up without rounding, whatever the order.
RC_GTEST_PROP(ParameterServer, HasTheSumOfAllChanges, ()) {
  const Arrivals any{*rc::gen::inRange<std::int64_t>(1, 9), *rc::gen::arbitrary<bool>(),
                     *rc::gen::arbitrary<std::uint64_t>()};
  std::vector<std::vector<float>> fetched(static_cast<std::size_t>(any.replicas),
                                          std::vector<float>{0, 0});
  std::vector<float> sum = {0, 0};
  for (std::int64_t round = 0; round < 4; ++round) {
    std::vector<std::vector<float>> pushed = fetched;
    for (std::vector<float>& one : pushed)
      for (std::size_t i = 0; i < one.size(); ++i) {
        const auto change = static_cast<float>(*rc::gen::inRange(-100, 100));
        one[i] += change, sum[i] += change;
      }
    serve(any, round, false, spans(fetched), spans(std::as_const(pushed)));
    RC_ASSERT(fetched[static_cast<std::size_t>(last_served(any, round + 1))] == sum);
  }
}

}  // namespace
}  // namespace trainyard
