#include "core/timeline/merged_trace.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace trainyard {
namespace {

// A stream with one span and a host thread with a step, as one rank's profiler writes them.
RecordedTrace trace_of(const std::string& source, int rank, std::int64_t step_at) {
  RecordedTrace t;
  t.source = source;
  t.names = {"gemm", "ProfilerStep#4"};
  t.processes = {{"GPU 0", rank}, {"python", rank}};
  t.threads = {{0, "stream 7", true}, {1, "thread 1", false}};
  t.rows = {{0, 0, 0, 1}, {1, 0, 1, 1}};
  t.start = {0, step_at};
  t.end = {50, step_at + 100};
  t.name = {0, 1};
  t.category = {0, 7};
  t.counters = {{0, "memory", true, {10}, {5}}};
  t.steps = {{1, 4, Instant{step_at}, Instant{step_at + 100}}};
  t.events = 3;
  return t;
}

// "process/thread: name@start ..." of every row.
std::string lanes_text(const RecordedTrace& t) {
  std::string text;
  for (const RecordedRow& row : t.rows) {
    const RecordedThread& thread = t.threads[row.thread];
    text += t.processes[thread.process].name + "/" + thread.name + ":";
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      text += " " + t.names[t.name[i]] + "@" + std::to_string(t.start[i]);
    text += "\n";
  }
  return text;
}

TEST(MergedTrace, RanksAreGroupsInOrderOnOneClock) {
  RecordedTrace one = trace_of("b.json", 1, 20), zero = trace_of("a.json", 0, 10);
  one.epoch = 1'000'000, one.base = 500;
  zero.epoch = 1'000'100, zero.base = 700;
  const RecordedTrace t = merged_trace({one, zero});
  EXPECT_EQ(lanes_text(t),
            "rank 0/stream 7: gemm@300\nrank 0/thread 1: ProfilerStep#4@310\n"
            "rank 1/stream 7: gemm@0\nrank 1/thread 1: ProfilerStep#4@20\n");
  EXPECT_EQ(t.names, (std::vector<std::string>{"gemm", "ProfilerStep#4"}));
  EXPECT_EQ(t.processes, (std::vector<RecordedProcess>{{"rank 0", 0}, {"rank 1", 1}}));
  EXPECT_EQ(t.steps, (std::vector<RecordedStep>{{0, 4, Instant{310}, Instant{410}},
                                                {1, 4, Instant{20}, Instant{120}}}));
  ASSERT_EQ(t.counters.size(), 2U);
  EXPECT_EQ(t.counters[0].process, 0U);
  EXPECT_EQ(t.counters[0].at, (std::vector<std::int64_t>{310}));
  EXPECT_EQ(t.notes, (std::vector<std::string>{
                         "the clocks of the ranks are aligned by their baseTimeNanoseconds"}));
  EXPECT_EQ(t.base, 500);
  EXPECT_EQ(t.epoch, 1'000'000);
  EXPECT_EQ(t.events, 6U);
  EXPECT_EQ(t.ranks, 2);
  EXPECT_EQ(t.source, "a.json and 1 more");
  EXPECT_NO_THROW(check(t));
}

TEST(MergedTrace, WithoutAClockTheFirstCommonStepStartsAtOnce) {
  RecordedTrace one = trace_of("run/rank1.json", -1, 20),
                zero = trace_of("run/rank_0.json", -1, 90);
  one.epoch = 1;  // the other says none
  one.steps.insert(one.steps.begin(), {1, 3, Instant{0}, Instant{20}});
  const RecordedTrace t = merged_trace({one, zero});
  EXPECT_EQ(lanes_text(t),
            "rank 0/stream 7: gemm@0\nrank 0/thread 1: ProfilerStep#4@90\n"
            "rank 1/stream 7: gemm@70\nrank 1/thread 1: ProfilerStep#4@90\n");
  EXPECT_EQ(t.notes.back(),
            "the clocks of the ranks are aligned by the start of step 4, because not all files say "
            "a baseTimeNanoseconds");
}

TEST(MergedTrace, WhatCannotBeAlignedSaysSo) {
  RecordedTrace a = trace_of("x.json", -1, 20), b = trace_of("y.json", -1, 90);
  a.steps.clear();
  const RecordedTrace t = merged_trace({a, b});
  EXPECT_EQ(lanes_text(t),
            "x.json/stream 7: gemm@0\nx.json/thread 1: ProfilerStep#4@20\n"
            "y.json/stream 7: gemm@0\ny.json/thread 1: ProfilerStep#4@90\n");
  EXPECT_TRUE(t.notes.back().ends_with("each begins at 0")) << t.notes.back();
}

TEST(MergedTrace, TwoFilesOfOneRankAreRefused) {
  try {
    merged_trace({trace_of("a.json", 2, 0), trace_of("b.json", 2, 0)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(describe(error),
              "b.json: expected one file a rank, found two of rank 2: a.json and b.json");
  }
}

// Streams with the same number on several devices stay separate.
TEST(MergedTrace, ARankOfSeveralDevicesKeepsThem) {
  RecordedTrace zero = trace_of("a.json", 0, 0);
  zero.threads[1].device = true;
  const RecordedTrace t = merged_trace({zero, trace_of("b.json", 1, 0)});
  EXPECT_EQ(lanes_text(t),
            "rank 0, GPU 0/stream 7: gemm@0\nrank 0, python/thread 1: ProfilerStep#4@0\n"
            "rank 1/stream 7: gemm@0\nrank 1/thread 1: ProfilerStep#4@0\n");
}

}  // namespace
}  // namespace trainyard
