// Tests the times of collectives that are made of what a profiler states of them.
#include "core/validation/recorded/recorded_exchanges.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/io/traces/chrome_trace_import.h"
#include "core/timeline/merged_trace.h"
#include "tests/support/collective_trace.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::CollectiveTrace;

RecordedTrace merged(const std::vector<CollectiveTrace>& ranks) {
  std::vector<RecordedTrace> list;
  for (const CollectiveTrace& rank : ranks)
    list.push_back(parse_chrome_trace(rank.text(), "r.json"));
  return merged_trace(std::move(list));
}

// The first step warms up, and takes longer.
CollectiveTrace rank_of(int rank, const std::vector<std::int64_t>& times) {
  CollectiveTrace t(rank);
  for (int step = 0; step < 3; ++step) {
    t.step(step, step * 1000, 1000);
    for (std::size_t i = 0; i < times.size(); ++i)
      t.collective("allreduce", 256, "Float", 2, "[0, 1]",
                   step * 1000 + static_cast<std::int64_t>(i) * 300,
                   step == 0 ? 250 : times[i] + step);
  }
  return t;
}

TEST(RecordedExchanges, TheShortestOfTheRanksIsWhatTheLinksTake) {
  const RecordedExchanges found =
      recorded_exchanges(merged({rank_of(0, {50, 10, 30}), rank_of(1, {20, 90, 30})}), 8);
  ASSERT_EQ(found.list.size(), 1u);
  const RecordedExchange& one = found.list[0];
  EXPECT_EQ(one.timing.collective, CollectiveKind::AllReduce);
  EXPECT_EQ(one.timing.ranks, 2);
  EXPECT_EQ(one.timing.per_node, 2);
  EXPECT_EQ(one.timing.bytes, Bytes{1024});
  EXPECT_EQ(one.timing.time, 21us);  // the lower median of 21, 11, 31 and 22, 12, 32
  EXPECT_DOUBLE_EQ(one.calls, 3);
  EXPECT_FALSE(one.waits);
  EXPECT_TRUE(found.unseen.empty());
}

// The rank that came last waited for nobody, and its collective is timed as the caller says.
TEST(RecordedExchanges, KnowWhichRankCameLast) {
  const RecordedTrace trace = merged({rank_of(0, {50, 10, 30}), rank_of(1, {20, 90, 35})});
  const auto half = [](const RecordedCollective& one) { return (one.to - one.from) / 2; };
  const RecordedExchange one = recorded_exchanges(trace, 8, half).list.at(0);
  EXPECT_EQ(one.timing.time, 10500ns);  // half of 21 us
  std::vector<std::uint32_t> ranks;
  for (const RecordedCollective* last : one.last) ranks.push_back(last->process);
  EXPECT_EQ(ranks, (std::vector<std::uint32_t>{1, 0, 0, 1, 0, 0}));  // of two steps
  const RecordedTrace alone = merged({rank_of(0, {50, 50, 50})});
  EXPECT_TRUE(recorded_exchanges(alone, 8).list.at(0).last.empty());
}

TEST(RecordedExchanges, OfOneRankAloneTheyIncludeWaiting) {
  const RecordedExchanges found = recorded_exchanges(merged({rank_of(0, {50, 50, 50})}), 8);
  ASSERT_EQ(found.list.size(), 1u);
  EXPECT_TRUE(found.list[0].waits);
  EXPECT_DOUBLE_EQ(found.list[0].calls, 3);
}

TEST(RecordedExchanges, RanksThatDoNotAgreeAreNotMatched) {
  const RecordedExchanges found =
      recorded_exchanges(merged({rank_of(0, {50, 50}), rank_of(1, {10, 10, 10})}), 8);
  ASSERT_EQ(found.list.size(), 1u);
  EXPECT_TRUE(found.list[0].waits);
  EXPECT_EQ(found.list[0].timing.time, 12us);  // of 11, 11, 11, 12, 12, 12, 51, 51, 52 and 52
}

// A group's ranks say whether it is within a node.
TEST(RecordedExchanges, GroupsAcrossNodesAreApart) {
  CollectiveTrace t(0);
  t.collective("_allgather_base", 100, "Half", 4, "[0, 1, 2, 3]", 0, 10);
  t.collective("_allgather_base", 100, "Half", 4, "[0, 8, 16, 24]", 20, 40);
  t.collective("_allgather_base", 100, "Half", 4, "[6, 7, 8, 9]", 70, 30);
  t.collective("_allgather_base", 100, "Half", 4, "", 110, 20);
  const RecordedExchanges found = recorded_exchanges(merged({t}), 8);
  ASSERT_EQ(found.list.size(), 4u);
  const std::pair<std::int64_t, Duration> expected[] = {{0, 20us}, {1, 40us}, {2, 30us}, {4, 10us}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found.list[i].timing.bytes, Bytes{800});
    EXPECT_EQ(found.list[i].timing.per_node, expected[i].first);
    EXPECT_EQ(found.list[i].timing.time, expected[i].second);
  }
}

TEST(RecordedExchanges, WhatHasNoPriceIsNamed) {
  CollectiveTrace t(0);
  t.collective("barrier", 1, "Byte", 2, "[0, 1]", 0, 10);
  t.collective("barrier", 1, "Byte", 2, "[0, 1]", 20, 10);
  t.collective("send", 8, "Float", 2, "[0, 1]", 40, 10);
  const RecordedExchanges found = recorded_exchanges(merged({t}), 8);
  EXPECT_TRUE(found.list.empty());
  EXPECT_EQ(found.unseen,
            (std::vector<std::string>{
                "barrier: 2 in the recording, of which no price is made",
                "send: 1 in the recording, of which no price is made, because a message lasts as "
                "long as the other end makes it wait"}));
}

// Ranks come when they come, and all leave when the last one has come and the links are done: the
// time of the links is found exactly, whoever was late.
RC_GTEST_PROP(RecordedExchanges, WhoeverIsLateTheLinksAreSeen, ()) {
  const int ranks = *rc::gen::inRange(2, 6);
  const std::int64_t links = *rc::gen::inRange<std::int64_t>(1, 1000);
  const int times = *rc::gen::inRange(1, 8);
  std::string list = "[0";
  for (int r = 1; r < ranks; ++r) list += ", " + std::to_string(r);
  std::vector<CollectiveTrace> all;
  for (int r = 0; r < ranks; ++r) all.emplace_back(r);
  std::int64_t at = 0;
  for (int i = 0; i < times; ++i) {
    std::vector<std::int64_t> arrivals;
    for (int r = 0; r < ranks; ++r)
      arrivals.push_back(at + *rc::gen::inRange<std::int64_t>(0, 500));
    const std::int64_t end = *std::max_element(arrivals.begin(), arrivals.end()) + links;
    for (int r = 0; r < ranks; ++r) {
      const std::int64_t from = arrivals[static_cast<std::size_t>(r)];
      all[static_cast<std::size_t>(r)].collective("reduce_scatter", 64, "Float", ranks, list + "]",
                                                  from, end - from);
    }
    at = end + *rc::gen::inRange<std::int64_t>(0, 100);
  }
  const RecordedExchanges found = recorded_exchanges(merged(all), 8);
  RC_ASSERT(found.list.size() == 1u);
  RC_ASSERT(!found.list[0].waits);
  RC_ASSERT(found.list[0].timing.time == std::chrono::microseconds(links));
  RC_ASSERT(found.list[0].calls == static_cast<double>(times));
}

}  // namespace
}  // namespace trainyard
