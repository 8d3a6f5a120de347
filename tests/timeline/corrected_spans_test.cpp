#include "core/timeline/corrected_spans.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"
#include "tests/support/refusal.h"
#include "tests/timeline/random_spans.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

SpanOverheads drawn_overheads(int most) {
  SpanOverheads drawn;
  for (auto& each : drawn.each) each = Picoseconds(*rc::gen::inRange(0, most));
  drawn.passing = Picoseconds(*rc::gen::inRange(0, most));
  return drawn;
}

// What a recorder writes down whose records take that long: each event comes later by all that the
// records before it have taken, to the nearest nanosecond.
NestedSpans with_planted(NestedSpans spans, const SpanOverheads& overheads) {
  Instant last{};
  for (std::size_t t = 0; t < spans.threads.size(); ++t) {
    Picoseconds taken{};
    for (SpanEvent& event : spans.threads[t]) {
      event.at += std::chrono::round<Duration>(taken);
      const Picoseconds each =
          *overheads.each[static_cast<std::size_t>(event.level)] + overheads.passing;
      taken += event.begins ? each / 2 : each - each / 2;
      last = std::max(last, event.at);
    }
    if (t == 0) spans.whole.end += std::chrono::round<Duration>(taken);
  }
  spans.whole.end = std::max(spans.whole.end, last);
  return spans;
}

TEST(CorrectedSpans, GiveBackTheBareTimelineOfPlantedOverheads) {
  EXPECT_TRUE(rc::check("planted and taken out", [] {
    NestedSpans bare = testing::random_spans(500);
    bare.threads.resize(1);  // a thread that ends before a later one has its own end
    const SpanOverheads overheads = drawn_overheads(300'000);
    const NestedSpans found = corrected(with_planted(bare, overheads), overheads);
    RC_ASSERT(found.threads == bare.threads);
    RC_ASSERT(found.whole == bare.whole);
  }));
}

TEST(CorrectedSpans, MoveEveryThreadByItsOwnRecordsOnly) {
  EXPECT_TRUE(rc::check("threads apart", [] {
    const NestedSpans bare = testing::random_spans(500);
    const SpanOverheads overheads = drawn_overheads(300'000);
    RC_ASSERT(corrected(with_planted(bare, overheads), overheads).threads == bare.threads);
  }));
}

TEST(CorrectedSpans, NeverGoBackInTimeHoweverLargeTheOverhead) {
  EXPECT_TRUE(rc::check("monotone", [] {
    const NestedSpans raw = testing::random_spans(50);
    const NestedSpans found = corrected(raw, drawn_overheads(2'000'000));
    RC_ASSERT(found.whole.end <= raw.whole.end);
    for (std::size_t t = 0; t < raw.threads.size(); ++t) {
      Instant before = found.whole.start;
      for (std::size_t i = 0; i < raw.threads[t].size(); ++i) {
        const SpanEvent &event = found.threads[t][i], &given = raw.threads[t][i];
        RC_ASSERT(event.at >= before);
        RC_ASSERT(event.at <= given.at);
        RC_ASSERT(event.at <= found.whole.end);
        before = event.at;
      }
    }
  }));
}

TEST(CorrectedSpans, ShortenEachSpanAroundARecordAndMoveWhatFollows) {
  // A task of 100 ns with an op of 40 ns, and a task after it. An op costs 10 ns, a task 20 ns.
  NestedSpans raw{SpanLevels::all(), {"t", "o"}, {{}}, {0ns, 300ns}};
  raw.threads[0] = {{0ns, 0, SpanLevel::Task, true},   {30ns, 1, SpanLevel::Op, true},
                    {70ns, 1, SpanLevel::Op, false},   {100ns, 0, SpanLevel::Task, false},
                    {200ns, 0, SpanLevel::Task, true}, {250ns, 0, SpanLevel::Task, false}};
  SpanOverheads overheads;
  overheads.each[1] = Picoseconds(20'000), overheads.each[2] = Picoseconds(10'000);
  const NestedSpans found = corrected(raw, overheads);
  std::vector<Instant> at;
  for (const SpanEvent& event : found.threads[0]) at.push_back(event.at);
  // The op began after half a record of the task, and ended after that and half of its own.
  EXPECT_EQ(at, (std::vector<Instant>{0ns, 20ns, 55ns, 80ns, 170ns, 210ns}));
  EXPECT_EQ(found.whole.end, 250ns);
}

TEST(CorrectedSpans, RefuseRecordsOfUnknownCost) {
  NestedSpans raw{SpanLevels::all(), {"k"}, {{}}, {0ns, 9ns}};
  raw.threads[0] = {{0ns, 0, SpanLevel::Kernel, true}, {5ns, 0, SpanLevel::Kernel, false}};
  EXPECT_EQ(testing::refusal([&] { corrected(raw, {}); }),
            "expected the overhead of each level that was recorded (annotation, task, op, kernel), "
            "found none of kernel: a profile with records of unknown cost cannot be corrected; "
            "measure it, or leave that level out");
  raw.threads[0].clear();
  EXPECT_EQ(corrected(raw, {}).whole, raw.whole);
}

TEST(SpanOverhead, IsTheMedianOfPairsAndNeverNegative) {
  EXPECT_EQ(span_overhead({{100ns, 150ns}, {100ns, 130ns}, {100ns, 900ns}}, 10),
            Picoseconds(5'000));
  EXPECT_EQ(span_overhead({{1000ns, 1007ns}}, 3), Picoseconds(2'333));
  EXPECT_EQ(span_overhead({{100ns, 90ns}}, 10), Picoseconds(0));
}

TEST(SpanLevels, AreReadFromAListAndRefusedWithTheNearest) {
  EXPECT_EQ(span_levels("kernel,task", "--kinds"),
            SpanLevels().with(SpanLevel::Task).with(SpanLevel::Kernel));
  EXPECT_EQ(span_levels("all", "--kinds"), SpanLevels::all());
  EXPECT_EQ(to_string(span_levels("kernel,task", "--kinds")), "task, kernel");
  EXPECT_EQ(testing::refusal([] { span_levels("task,kernels", "--kinds"); }),
            "--kinds: expected all, or some of annotation, task, op, kernel with commas between, "
            "found \"kernels\"; did you mean \"kernel\"?");
  EXPECT_EQ(testing::refusal([] { span_levels("", "--kinds"); }),
            "--kinds: expected all, or some of annotation, task, op, kernel with commas between, "
            "found \"\"");
}

}  // namespace
}  // namespace trainyard
