#include "core/io/traces/chrome_trace_import.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "tests/support/kineto_trace.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

RecordedTrace parsed(const std::string& text) { return parse_chrome_trace(text, "t.json"); }

std::string refusal_of(const std::string& text) {
  return testing::refusal([&] { parsed(text); });
}

// "row: name@start+length ..." of every row.
std::string rows_text(const RecordedTrace& t) {
  std::string text;
  for (const RecordedRow& row : t.rows) {
    text += t.threads[row.thread].name + "/" + std::to_string(row.depth) + ":";
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      text += " " + t.names[t.name[i]] + "@" + std::to_string(t.start[i]) + "+" +
              std::to_string(t.end[i] - t.start[i]);
    text += "\n";
  }
  return text;
}

TEST(ChromeTrace, SpansNestByDepthAndOverlapsGoBelow) {
  const RecordedTrace t = parsed(R"([
    {"ph":"X","name":"inner","pid":1,"tid":2,"ts":12.5,"dur":2},
    {"ph":"X","name":"outer","pid":1,"tid":2,"ts":10,"dur":10},
    {"ph":"X","name":"overlaps","pid":1,"tid":2,"ts":18,"dur":5},
    {"ph":"X","name":"other","pid":1,"tid":10,"ts":"10.001","dur":"0.0005"}])");
  EXPECT_EQ(rows_text(t),
            "thread 2/0: outer@0+10000\n"
            "thread 2/1: inner@2500+2000 overlaps@8000+5000\n"
            "thread 10/0: other@1+1\n");
  EXPECT_EQ(t.base, 10'000);
  EXPECT_EQ(t.events, 4u);
  EXPECT_TRUE(t.defects.empty());
}

TEST(ChromeTrace, BeginsAndEndsPairUpPerThread) {
  const RecordedTrace t = parsed(R"({"traceEvents":[
    {"ph":"B","name":"a","pid":1,"tid":1,"ts":0},{"ph":"B","name":"b","pid":1,"tid":1,"ts":1},
    {"ph":"E","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":4},
    {"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"B","name":"c","pid":1,"tid":1,"ts":6},
    {"ph":"X","name":"d","pid":1,"tid":2,"ts":8,"dur":1}]})");
  EXPECT_EQ(rows_text(t),
            "thread 1/0: a@0+4000 c@6000+3000\nthread 1/1: b@1000+2000\nthread 2/0: d@8000+1000\n");
  ASSERT_EQ(t.defects.size(), 2u);
  EXPECT_EQ(describe(t.defects[0]),
            "line 4: expected a begin before every end, found an end alone; the event is left out");
  EXPECT_EQ(t.defects[1].count, 1u);
}

TEST(ChromeTrace, EventsByIdMayOverlap) {
  const RecordedTrace t = parsed(R"([{"ph":"b","cat":"net","id":"0x1","name":"a","pid":1,"ts":0},
    {"ph":"b","cat":"net","id":"0x2","name":"a","pid":1,"ts":1},
    {"ph":"e","cat":"net","id":"0x1","name":"a","pid":1,"ts":5},
    {"ph":"e","cat":"net","id":"0x2","name":"a","pid":1,"ts":9}])");
  EXPECT_EQ(rows_text(t), "by id: net/0: a@0+5000\nby id: net/1: a@1000+8000\n");
}

TEST(ChromeTrace, CountersAndNamesAreKept) {
  const RecordedTrace t = parsed(R"json([
    {"ph":"M","name":"process_name","pid":7,"args":{"name":"rank 3 | node 1"}},
    {"args":{"weights":5,"activations":1.5},"ph":"C","name":"memory (bytes)","pid":7,"ts":2},
    {"ph":"C","name":"memory (bytes)","pid":7,"ts":1,"args":{"weights":4}},
    {"ph":"C","name":"memory (bytes)","pid":7,"ts":1,"args":{"weights":3}}])json");
  ASSERT_EQ(t.counters.size(), 2u);
  EXPECT_EQ(t.counters[0].name, "memory (bytes): weights");
  EXPECT_TRUE(t.counters[0].bytes);
  EXPECT_EQ(t.counters[0].at, (std::vector<std::int64_t>{0, 1000}));
  EXPECT_EQ(t.counters[0].value, (std::vector<double>{3, 5}));
  EXPECT_EQ(t.processes.at(0).rank, 3);
  EXPECT_NO_THROW(check(t));
}

TEST(ChromeTrace, KernelsTakeThePassThatLaunchedThem) {
  const RecordedTrace t = parsed(kineto_trace());
  EXPECT_NO_THROW(check(t));
  EXPECT_TRUE(t.defects.empty());
  EXPECT_EQ(t.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(t.ranks, 8);
  ASSERT_EQ(t.steps.size(), 3u);
  EXPECT_EQ(t.steps[0].number, 5);
  EXPECT_GT(median_step(t).count(), 0);
  std::array<std::uint64_t, kRecordedKinds> kernels{};
  for (const RecordedRow& row : t.rows)
    if (t.threads[row.thread].device && !t.threads[row.thread].name.ends_with("marks"))
      for (std::uint64_t i = row.first; i < row.first + row.count; ++i) ++kernels[t.category[i]];
  EXPECT_EQ(kernels, (std::array<std::uint64_t, kRecordedKinds>{36, 36, 0, 0, 12, 3, 0, 0}));
  ASSERT_EQ(t.counters.size(), 2u);
  EXPECT_EQ(t.counters[1].name, "device 0 memory reserved");
}

TEST(ChromeTrace, WhatEventsLackIsToldOncePerKind) {
  const RecordedTrace t = parsed(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":5},
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":6},
    {"ph":"X","name":"a","pid":1,"tid":1,"dur":1},
    {"ph":"?","name":"a","pid":1,"tid":1,"ts":1},
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":9,"dur":-1},
    {"name":"a","pid":1,"tid":1,"ts":9,"dur":-1}])");
  std::string text;
  for (const TraceDefect& d : t.defects) text += describe(d) + "\n";
  EXPECT_EQ(text,
            "line 2: expected a duration from 0 on as dur, found none (2 times); the event is left "
            "out\n"
            "line 4: expected a time in microseconds as ts, found none; the event is left out\n"
            "line 5: expected a phase of the format, found \"?\"; the event is left out\n"
            "line 6: expected a duration from 0 on as dur, found another text; the event is left "
            "out\n"
            "line 7: expected a phase of one letter as ph, found none; the event is left out\n");
  EXPECT_EQ(t.start.size(), 1u);
}

TEST(ChromeTrace, AFileThatEndsEarlyKeepsWhatItHolds) {
  const std::string whole = kineto_trace();
  const RecordedTrace t = parsed(whole.substr(0, whole.size() / 2));
  EXPECT_GT(t.start.size(), 100u);
  ASSERT_FALSE(t.defects.empty());
  EXPECT_EQ(t.defects.front().found, "the end of the file");
  EXPECT_EQ(t.defects.front().offset, whole.size() / 2);
}

TEST(ChromeTrace, RefusesWhatIsNoTraceWithItsPlace) {
  EXPECT_EQ(refusal_of(""), "t.json:1 (byte 0): expected trace events as JSON, found nothing");
  EXPECT_EQ(refusal_of("[1,2"),
            "t.json:1 (byte 4): expected trace events as JSON, found the end of the file");
  EXPECT_EQ(refusal_of("{\"traceEvents\": [{\"ph\" \"X\"}]}"),
            "t.json:1 (byte 23): expected trace events as JSON, found no colon behind a key");
  EXPECT_EQ(refusal_of("{\"a\" 1}"),
            "t.json:1 (byte 5): expected trace events as JSON, found no colon behind a key");
  EXPECT_EQ(refusal_of("{\"a\":1}"),
            "t.json:1 (byte 7): expected a list of events or an object with traceEvents, found "
            "neither");
  EXPECT_EQ(refusal_of("[]"),
            "t.json:1 (byte 2): expected events that can be shown, found none "
            "among 0");
  EXPECT_NE(refusal_of(std::string(100'000, '[')).find("expected at most 200 lists"),
            std::string::npos);
}

// A single time of 0 among those of a clock that counts from 1970 must not compress the rest.
TEST(ChromeTrace, WhatIsYearsAwayIsLeftOut) {
  const RecordedTrace t = parsed(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":1700000000000000.125,"dur":1},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":1700000000000002,"dur":1e300},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":1700000000000002,"dur":1}])");
  EXPECT_EQ(rows_text(t), "thread 1/0: b@0+1000 c@1875+1000\n");
  EXPECT_EQ(t.base, 1'700'000'000'000'000'125);
}

TEST(ChromeTrace, IsCancelled) {
  std::stop_source stop;
  const std::string text = kineto_trace({.steps = 400});
  int calls = 0;
  TraceImportOptions options{stop.get_token(), [&](double share) {
                               EXPECT_GE(share, 0);
                               EXPECT_LE(share, 1);
                               if (++calls == 2) stop.request_stop();
                             }};
  try {
    parse_chrome_trace(text, "t", options);
    FAIL() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Cancelled);
  }
  EXPECT_EQ(calls, 2);
}

TEST(ChromeTrace, APackedFileGivesTheSame) {
  std::string folder = (std::filesystem::temp_directory_path() / "trainyard-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/t.json.gz", text = kineto_trace({.steps = 40});
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  RecordedTrace packed = import_chrome_trace(path);
  packed.source = "t.json";
  EXPECT_EQ(packed, parsed(text));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_EQ(import_chrome_trace(path).defects.front().found, "the end of the file");
  EXPECT_THROW(import_chrome_trace(folder), Error);
  EXPECT_THROW(import_chrome_trace(folder + "/none"), Error);
  std::filesystem::remove_all(folder);
}

// For any spans, rows contain each once and never two at the same time.
TEST(ChromeTrace, EverySpanIsInOneRow) {
  EXPECT_TRUE(rc::check([] {
    const auto spans = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 50), rc::gen::inRange(0, 20)));
    std::string text = "[{\"ph\":\"i\",\"name\":\"x\",\"pid\":0,\"tid\":0,\"ts\":0}";
    std::vector<std::pair<std::int64_t, std::int64_t>> given = {{0, 0}}, found;
    for (const auto& span : spans) {
      text +=
          ",{\"ph\":\"X\",\"name\":\"x\",\"pid\":0,\"tid\":0,\"ts\":" + std::to_string(span.first) +
          ",\"dur\":" + std::to_string(span.second) + "}";
      given.emplace_back(1000 * span.first, 1000 * (span.first + span.second));
    }
    const RecordedTrace t = parsed(text + "]");
    check(t);
    for (std::size_t i = 0; i < t.start.size(); ++i) found.emplace_back(t.start[i], t.end[i]);
    std::sort(given.begin(), given.end());
    std::sort(found.begin(), found.end());
    RC_ASSERT(found == given);
  }));
}

}  // namespace
}  // namespace trainyard
