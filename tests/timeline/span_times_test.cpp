#include "core/timeline/span_times.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <tuple>

#include "tests/timeline/random_spans.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

using SpanTimeKey = std::tuple<std::string, int, bool>;

// Asks at every nanosecond which spans of a thread are open.
std::map<SpanTimeKey, std::int64_t> nanosecond_by_nanosecond(const NestedSpans& spans) {
  const auto open_at = [&](const std::vector<SpanEvent>& thread, Instant at) {
    std::vector<SpanEvent> open;
    for (const SpanEvent& event : thread) {
      if (event.at > at) break;
      if (event.begins)
        open.push_back(event);
      else
        open.pop_back();
    }
    return open;
  };
  std::map<SpanTimeKey, std::int64_t> sums;
  for (Instant at = spans.whole.start; at < spans.whole.end; at += 1ns) {
    bool busy = false;
    for (const auto& thread : spans.threads)
      for (const SpanEvent& event : open_at(thread, at)) busy |= event.level == SpanLevel::Kernel;
    for (const auto& thread : spans.threads) {
      const std::vector<SpanEvent> open = open_at(thread, at);
      std::string annotations;
      for (const SpanEvent& event : open)
        if (event.level == SpanLevel::Annotation)
          annotations += (annotations.empty() ? "" : "/") + spans.names[event.name];
      ++sums[{annotations, open.empty() ? -1 : static_cast<int>(open.back().level), busy}];
    }
  }
  return sums;
}

TEST(SpanTimes, AreThoseOfEveryNanosecond) {
  EXPECT_TRUE(rc::check("swept as asked", [] {
    const NestedSpans spans = testing::random_spans(4);
    std::map<SpanTimeKey, std::int64_t> swept;
    for (const SpanTime& row : exclusive_times(spans))
      swept[{row.annotations, row.level ? static_cast<int>(*row.level) : -1, row.busy}] =
          row.time.count();
    RC_ASSERT(swept == nanosecond_by_nanosecond(spans));
  }));
}

TEST(SpanTimes, AddUpToTheWholeOfEveryThread) {
  EXPECT_TRUE(rc::check("sum is wall", [] {
    const NestedSpans spans = testing::random_spans(100'000);
    Duration sum{};
    for (const SpanTime& row : exclusive_times(spans)) sum += row.time;
    RC_ASSERT(sum == spans.whole.length() * static_cast<std::int64_t>(spans.threads.size()));
  }));
}

TEST(SpanTimes, OfNamesHaveWhatIsOutsideOfSpansWithin) {
  NestedSpans spans{SpanLevels::all(), {"layer", "matmul"}, {{}}, {0ns, 100ns}};
  spans.threads[0] = {{10ns, 0, SpanLevel::Op, true},      {20ns, 1, SpanLevel::Kernel, true},
                      {50ns, 1, SpanLevel::Kernel, false}, {60ns, 1, SpanLevel::Kernel, true},
                      {65ns, 1, SpanLevel::Kernel, false}, {70ns, 0, SpanLevel::Op, false}};
  const std::vector<NamedSpans> rows = spans_by_name(spans);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].name, "layer");
  EXPECT_EQ(rows[0].whole, 60ns);
  EXPECT_EQ(rows[0].own, 25ns);
  EXPECT_EQ(rows[1].count, 2);
  EXPECT_EQ(rows[1].own, 35ns);
}

NestedSpans duty_of_one_in_twenty() {
  NestedSpans spans{SpanLevels::all(), {"kernel"}, {{}}, {0ns, 100ms}};
  for (int i = 0; i < 100; ++i) {
    const Instant at = i * 1ms + 300us;
    spans.threads[0].push_back({at, 0, SpanLevel::Kernel, true});
    spans.threads[0].push_back({at + 50us, 0, SpanLevel::Kernel, false});
  }
  return spans;
}

TEST(DeviceUse, SampledIsFarAboveTheTruthOnAWorkloadOfFivePercent) {
  const NestedSpans spans = duty_of_one_in_twenty();
  const DeviceUse coarse = device_use(spans, 1ms), fine = device_use(spans, 100us);
  EXPECT_DOUBLE_EQ(coarse.busy_share(), 0.05);
  EXPECT_DOUBLE_EQ(coarse.sampled_share(), 1);
  EXPECT_DOUBLE_EQ(coarse.inflation().value(), 20);
  EXPECT_DOUBLE_EQ(fine.sampled_share(), 0.1);
  EXPECT_GE(fine.inflation().value(), 1.5);
  EXPECT_EQ(device_use(spans, 7s).windows, 1);
}

TEST(DeviceUse, CountsTheWindowsThatHoldAKernel) {
  EXPECT_TRUE(rc::check("windows one by one", [] {
    const NestedSpans spans = testing::random_spans(8);
    const Duration window{*rc::gen::inRange(1, 40)};
    const DeviceUse use = device_use(spans, window);
    std::set<std::int64_t> occupied;
    std::int64_t busy = 0;
    for (Instant at{}; at < spans.whole.end; at += 1ns) {
      bool in_kernel = false;
      for (const auto& thread : spans.threads) {
        int depth = 0;
        for (const SpanEvent& event : thread)
          if (event.at <= at && event.level == SpanLevel::Kernel) depth += event.begins ? 1 : -1;
        in_kernel |= depth > 0;
      }
      if (!in_kernel) continue;
      ++busy;
      occupied.insert(at / window);
    }
    RC_ASSERT(use.busy.count() == busy);
    RC_ASSERT(use.occupied == static_cast<std::int64_t>(occupied.size()));
    RC_ASSERT(use.sampled >= use.busy);
    RC_ASSERT(use.sampled <= use.whole);
    RC_ASSERT(use.inflation().has_value() == (busy > 0));
  }));
}

}  // namespace
}  // namespace trainyard
