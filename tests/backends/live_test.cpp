// Tests live events: they arrive in order and once, and lost ones are counted.
#include "backends/cpu/live.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

TEST(LiveQueue, IsFullAtItsCapacityAndCountsWhatItLoses) {
  LiveQueue<int> queue(4);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(queue.push(i), i < 4);
  EXPECT_EQ(queue.lost(), 2u);
  std::vector<int> got;
  EXPECT_EQ(queue.drain(got), 4u);
  EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(queue.push(6));
  EXPECT_EQ(queue.drain(got), 1u);
  EXPECT_EQ(got.back(), 6);
}

// One thread writes while another reads: everything not counted as lost arrives once and in order.
TEST(LiveSink, NothingIsReorderedBetweenTwoThreads) {
  constexpr int kEach = 20'000;
  LiveSink sink(2, 64);
  std::vector<std::thread> writers;
  for (int worker = 0; worker < 2; ++worker)
    writers.emplace_back([&sink, worker] {
      for (int i = 0; i < kEach; ++i) {
        sink.spans(worker).push({{static_cast<std::uint32_t>(i)}, i, worker, {Instant{i}, {}}});
        sink.memory(worker).push({{0}, worker, Instant{i}, {}});
      }
      if (worker == 0) sink.steps().push({kEach});
    });
  std::vector<LiveSpan> spans;
  std::vector<LiveMemory> memory;
  std::vector<LiveStep> steps;
  while (steps.empty()) sink.drain(spans, memory, steps);
  for (std::thread& writer : writers) writer.join();
  sink.drain(spans, memory, steps);

  EXPECT_EQ(spans.size() + memory.size() + sink.lost(), 4u * kEach);
  int last[] = {-1, -1};
  for (const LiveSpan& s : testing::non_empty(spans)) {
    EXPECT_GT(s.repetition, last[s.peer]);
    EXPECT_EQ(s.span.start.count(), s.repetition);
    last[s.peer] = s.repetition;
  }
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].step, kEach);
}

}  // namespace
}  // namespace trainyard
