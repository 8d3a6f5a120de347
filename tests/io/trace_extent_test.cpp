#include "core/io/traces/trace_extent.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "core/io/traces/chrome_trace_import.h"
#include "core/io/traces/nsys_csv_import.h"
#include "core/io/traces/recorded_trace_file.h"
#include "tests/support/kineto_trace.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

TraceExtent extent(const std::string& text) { return parse_chrome_trace_extent(text, "t.json"); }

RecordedTrace part(const std::string& text, std::int64_t from, std::int64_t to) {
  const TraceRange range = range_within(extent(text), Instant{from}, Instant{to});
  return parse_chrome_trace(text, "t.json", {.stop = {}, .progress = {}, .range = range});
}

// "thread: name@start+length ..." of every thread that has a span.
std::string kept_text(const RecordedTrace& t) {
  std::string text;
  for (const RecordedRow& row : t.rows) {
    text += t.threads[row.thread].name + ":";
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      text += " " + t.names[t.name[i]] + "@" + std::to_string(t.start[i]) + "+" +
              std::to_string(t.end[i] - t.start[i]);
    text += "\n";
  }
  return text;
}

using Kept = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::string, std::uint8_t>;
std::vector<Kept> spans_of(const RecordedTrace& t) {
  std::vector<Kept> list;
  for (const RecordedRow& row : t.rows)
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      list.emplace_back(row.thread, t.start[i], t.end[i], t.names[t.name[i]], t.category[i]);
  std::sort(list.begin(), list.end());
  return list;
}

const char* const kFive = R"([
  {"ph":"X","name":"before","pid":1,"tid":1,"ts":1000,"dur":10},
  {"ph":"X","name":"into","pid":1,"tid":1,"ts":1015,"dur":10},
  {"ph":"X","name":"whole","pid":1,"tid":2,"ts":1000,"dur":100},
  {"ph":"i","name":"at its start","pid":1,"tid":3,"ts":1020},
  {"ph":"i","name":"at its end","pid":1,"tid":3,"ts":1040},
  {"ph":"X","name":"behind","pid":1,"tid":1,"ts":1040,"dur":10},
  {"ph":"X","name":"out of","pid":1,"tid":1,"ts":1030,"dur":10.001},
  {"ph":"C","name":"n","pid":1,"ts":1005,"args":{"value":1}},
  {"ph":"C","name":"n","pid":1,"ts":1010,"args":{"value":2}},
  {"ph":"C","name":"n","pid":1,"ts":1030,"args":{"value":3}},
  {"ph":"C","name":"n","pid":1,"ts":1040,"args":{"value":4}}])";

TEST(TraceExtent, TellsWhatIsCoveredWithoutKeepingIt) {
  const TraceExtent e = extent(kFive);
  EXPECT_EQ(e.base, 1'000'000);
  EXPECT_EQ(e.end, Instant{100'000});
  EXPECT_EQ(e.events, 11u);
  EXPECT_EQ(e.spans, 7u);
  EXPECT_EQ(e.text, Bytes{static_cast<std::int64_t>(std::string(kFive).size())});
  EXPECT_TRUE(e.steps.empty());
}

// The range is half-open: a span that ends where it begins, or begins where it ends, does not touch
// it.
TEST(TraceExtent, KeepsWhatTouchesTheRangeWhole) {
  const RecordedTrace t = part(kFive, 20'000, 40'000);
  EXPECT_EQ(kept_text(t),
            "thread 1: into@15000+10000 out of@30000+10001\n"
            "thread 2: whole@0+100000\n"
            "thread 3: at its start@20000+0\n");
  EXPECT_EQ(t.base, 1'000'000);
  EXPECT_EQ(t.part, (RecordedPart{Instant{20'000}, Instant{40'000}, Instant{100'000}}));
  ASSERT_EQ(t.counters.size(), 1u);
  EXPECT_EQ(t.counters[0].at, (std::vector<std::int64_t>{20'000, 30'000}));
  EXPECT_EQ(t.counters[0].value, (std::vector<double>{2, 3}));
  EXPECT_EQ(t.events, 11u);
  EXPECT_NO_THROW(check(t));
  EXPECT_EQ(parse_recorded_trace(recorded_trace_bytes(t), "t.json"), t);
}

TEST(TraceExtent, WhatAReportOfNsysCovers) {
  const std::string text =
      "Start (us),Duration (us),Name,PID,TID\n10,40,ProfilerStep#7,1,1\n20,5,a,1,1\n"
      "50,30,ProfilerStep#8,1,1\n";
  const TraceExtent e = parse_nsys_csv_extent(text, "t.csv");
  EXPECT_EQ(e.base, 10'000);
  EXPECT_EQ(e.end, Instant{70'000});
  EXPECT_EQ(e.text, Bytes{static_cast<std::int64_t>(text.size())});
  EXPECT_EQ(e.steps, (std::vector<ExtentStep>{{7, Instant{0}, Instant{40'000}},
                                              {8, Instant{40'000}, Instant{70'000}}}));
  const TraceRange range = range_within(e, Instant{40'000}, Instant{70'000});
  const RecordedTrace t =
      parse_nsys_csv(text, "t.csv", {.stop = {}, .progress = {}, .range = range});
  EXPECT_EQ(kept_text(t), "thread 1: ProfilerStep#8@40000+30000\n");
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(t.steps[0].number, 8);
}

// The scan follows the structure, not the words: text that merely looks like a time is ignored.
TEST(TraceExtent, OnlyEventsThemselvesCount) {
  const TraceExtent e = extent(R"({"ts": 1, "other": [{"ph":"X","ts":1,"dur":1}],
    "traceEvents": [{"args":{"ts":5,"x":{"ts":6}},"name":"a \\\" \"ts\": 7","ph":"X","ts":10,"dur":"5"},
      {"ph":"M","name":"process_name","ts":0}, {"ph":"s","ts":1}, {"ph":"X","ts":1},
      {"dur":2,"ts":20.5,"ph":"X","cat":"c","name":"ProfilerStep#3, }"}],
    "after": {"ph":"X","ts":99,"dur":9}})");
  EXPECT_EQ(e.base, 10'000);
  EXPECT_EQ(e.end, Instant{12'500});
  EXPECT_EQ(e.events, 5u);
  EXPECT_EQ(e.spans, 2u);
  EXPECT_EQ(e.steps, (std::vector<ExtentStep>{{3, Instant{10'500}, Instant{12'500}}}));
  EXPECT_THROW(extent("{\"hello\": 1}"), Error);
  EXPECT_THROW(extent("[1, 2"), Error);
}

// PyTorch marks a step on the device until the last kernel that the marking thread launched, which
// the kernels of backward, launched by a thread of their own, outlast.
TEST(TraceExtent, AStepOnADeviceLastsUntilTheNextOrAsLongAsOnTheHost) {
  const std::string text = R"({"traceEvents": [
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":9,"tid":9,"ts":0,"dur":100},
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":9,"tid":9,"ts":100,"dur":110},
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#1","pid":0,"tid":7,"ts":5,"dur":35},
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#2","pid":0,"tid":7,"ts":104,"dur":46},
    {"ph":"X","cat":"kernel","name":"backward","pid":0,"tid":7,"ts":45,"dur":50},
    {"ph":"X","cat":"kernel","name":"backward","pid":0,"tid":7,"ts":150,"dur":55}]})";
  const std::vector<ExtentStep> whole = {{1, Instant{5'000}, Instant{104'000}},
                                         {2, Instant{104'000}, Instant{210'000}}};
  EXPECT_EQ(extent(text).steps, whole);
  EXPECT_EQ(extent_of(parse_chrome_trace(text, "t.json")).steps, whole);
}

// Kernels take the pass of their launch, also where the launch lies before the range.
TEST(TraceExtentProperty, APartIsThatPartOfTheWhole) {
  const std::string text = kineto_trace({.steps = 4});
  const RecordedTrace whole = parse_chrome_trace(text, "t.json");
  const TraceExtent e = extent(text);
  EXPECT_EQ(e.base, whole.base);
  EXPECT_EQ(e.end, end_of(whole));
  EXPECT_EQ(e.events, whole.events);
  EXPECT_EQ(e.spans, whole.start.size());
  EXPECT_EQ(e.steps, extent_of(whole).steps);
  EXPECT_TRUE(rc::check([&] {
    const auto from = *rc::gen::inRange<std::int64_t>(0, e.end.count());
    const auto to = *rc::gen::inRange<std::int64_t>(from + 1, e.end.count() + 1);
    const RecordedTrace read = part(text, from, to);
    const RecordedTrace cut = part_of(whole, Instant{from}, Instant{to});
    check(read), check(cut);
    RC_ASSERT(spans_of(read) == spans_of(cut));
    RC_ASSERT(read.counters == cut.counters);
    RC_ASSERT(read.steps == cut.steps);
    RC_ASSERT(read.part == cut.part);
    RC_ASSERT(read.base == cut.base);
  }));
}

TEST(TraceExtent, RefusesRangesWithWhatTheRecordingSpans) {
  const TraceExtent e = extent(kFive);
  const auto refusal = [&](std::int64_t from, std::int64_t to) {
    return testing::refusal([&] { range_within(e, Instant{from}, Instant{to}, {"--range"}); });
  };
  EXPECT_EQ(refusal(5'000, 5'000),
            "--range: expected a range that ends after it starts, found 5.00 us to 5.00 us; the "
            "recording is from 0 s to 100 us");
  EXPECT_EQ(refusal(50'000, 20'000),
            "--range: expected a range that ends after it starts, found 50.0 us to 20.0 us; the "
            "recording is from 0 s to 100 us");
  EXPECT_EQ(refusal(100'000, 200'000),
            "--range: expected a range within the recording, found 100 us to 200 us; the recording "
            "is from 0 s to 100 us");
  EXPECT_EQ(refusal(99'999, 200'000), "accepted");
  EXPECT_EQ(range_within(e, Instant{99'999}, Instant{200'000}).to, Instant{100'000});
}

TEST(TraceExtent, CostFollowsTheTextAndTheShareOfSpans) {
  TraceExtent e;
  e.text = Bytes{320'000'000};
  e.spans = 1'000'000;
  EXPECT_EQ(import_cost(e, 1).memory, Bytes{kBytesOfSpan * 1'000'000});
  EXPECT_EQ(import_cost(e, 0.25).memory, Bytes{kBytesOfSpan * 250'000});
  EXPECT_EQ(import_cost(e, 0.25).time, import_cost(e, 1).time);
}

TEST(TraceExtent, SeveralLieOnOneClock) {
  const auto of = [](const char* epoch, int at) {
    return extent(std::string("{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"ProfilerStep#4\",") +
                  "\"ts\":" + std::to_string(at) + ",\"dur\":2,\"pid\":1}]" + epoch + "}");
  };
  const std::vector<TraceExtent> both = {of(",\"baseTimeNanoseconds\":500", 7),
                                         of(",\"baseTimeNanoseconds\":1500", 3)};
  EXPECT_EQ(both[0].epoch, 500);
  const AlignedClocks clocks = clocks_of(both);
  EXPECT_EQ(clocks.shifts, (std::vector<std::int64_t>{3000, 0}));
  const TraceExtent whole = together(both, clocks);
  EXPECT_EQ(whole.base, 3000);
  EXPECT_EQ(whole.epoch, 1500);
  EXPECT_EQ(whole.end, Instant{5000});
  EXPECT_EQ(whole.spans, 2U);
  EXPECT_EQ(whole.steps, (std::vector<ExtentStep>{{4, Instant{0}, Instant{5000}}}));
  const TraceRange range{Instant{3500}, Instant{6000}, whole.base, whole.end};
  const auto part = range_in(both[0], clocks.shifts[0], range);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->from, Instant{500});
  EXPECT_EQ(part->to, Instant{2000});
  EXPECT_EQ(part->base, 7000);
  EXPECT_FALSE(range_in(both[1], clocks.shifts[1], range).has_value());
  // If one file has no clock, the step that both mark is used.
  EXPECT_EQ(clocks_of({both[0], of("", 9)}).shifts, (std::vector<std::int64_t>{0, 0}));
}

}  // namespace
}  // namespace trainyard
