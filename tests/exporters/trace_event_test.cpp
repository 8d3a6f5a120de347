#include "core/exporters/trace_event.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/timeline/metrics.h"
#include "tests/support/non_empty.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using nlohmann::json;
using testing::pipeline;
using testing::play;

std::string write(const Timeline& timeline, const Program& program,
                  std::span<const std::string> places = {}) {
  std::ostringstream out;
  write_trace_event(out, timeline, program, places);
  return out.str();
}

// Microseconds with three decimals are whole nanoseconds.
std::int64_t nanoseconds(const json& value) {
  return static_cast<std::int64_t>(std::llround(value.get<double>() * 1000));
}

using Track = std::pair<int, int>;  // pid, tid

struct Slice {
  std::int64_t start = 0, end = 0;
};

/// Perfetto's rules: slices of a track nest or follow each other, counters have ascending times,
/// and flows lie inside slices and come in pairs with ascending times.
class Rules {
 public:
  explicit Rules(const json& trace) {
    for (const json& e : trace.at("traceEvents")) read(e);
    for (auto& [track, list] : slices_) check_nesting(track, list);
    for (const auto& [id, ends] : flows_)
      if (ends.size() != 2 || ends.at('s') > ends.at('f')) broken("flow " + std::to_string(id));
    for (const auto& [track, at] : flow_points_) check_inside(track, at);
  }

  std::set<std::string> broken_rules;
  std::size_t slices = 0, counters = 0, flows = 0;
  std::map<std::string, int> names;

 private:
  void broken(const std::string& what) { broken_rules.insert(what); }

  void read(const json& e) {
    const char phase = e.at("ph").get<std::string>().at(0);
    if (phase == 'M') {
      ++names[e.at("args").contains("name") ? e["args"]["name"].get<std::string>() : "sort"];
      return;
    }
    const std::int64_t at = nanoseconds(e.at("ts"));
    const int pid = e.at("pid").get<int>();
    if (at < 0) broken("time before the start");
    if (phase == 'X') {
      ++slices;
      slices_[{pid, e.at("tid").get<int>()}].push_back({at, at + nanoseconds(e.at("dur"))});
    } else if (phase == 'C') {
      ++counters;
      auto [last, is_new] = counted_.try_emplace(pid, at);
      if (!is_new && last->second >= at) broken("counter of " + std::to_string(pid));
      last->second = at;
    } else {
      ++flows;
      flows_[e.at("id").get<int>()][phase] = at;
      flow_points_.push_back({{pid, e.at("tid").get<int>()}, at});
    }
  }

  void check_nesting(Track track, std::vector<Slice>& list) {
    std::sort(list.begin(), list.end(), [](const Slice& a, const Slice& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::vector<Slice> open;
    for (const Slice& s : list) {
      while (!open.empty() && open.back().end <= s.start) open.pop_back();
      if (!open.empty() && open.back().end < s.end)
        broken("overlap on track " + std::to_string(track.second));
      open.push_back(s);
    }
  }

  void check_inside(Track track, std::int64_t at) {
    for (const Slice& s : slices_[track])
      if (s.start <= at && at < s.end) return;
    broken("flow outside the slices of track " + std::to_string(track.second));
  }

  std::map<Track, std::vector<Slice>> slices_;
  std::map<int, std::int64_t> counted_;
  std::map<int, std::map<char, std::int64_t>> flows_;
  std::vector<std::pair<Track, std::int64_t>> flow_points_;
};

Duration length(const Task& task) {
  if (task.kind == TaskKind::Send || task.kind == TaskKind::Receive) return Duration(250);
  return task.phase == Phase::Backward ? Duration(2001) : Duration(1000);
}

TEST(TraceEvent, KeepsPerfettosRules) {
  const Program program = pipeline({.devices = 3, .microbatches = 4});
  const Rules rules(json::parse(write(play(program, length), program)));
  EXPECT_EQ(rules.broken_rules, std::set<std::string>());
  EXPECT_EQ(rules.slices, program.instructions.size());
  EXPECT_EQ(rules.flows, 2u * 2 * 4 * 2);  // both ends, both directions, microbatches, boundaries
  EXPECT_GT(rules.counters, 3u);
}

TEST(TraceEvent, TheRulesOfThisTestCanBeBroken) {
  const Program program = pipeline({.devices = 2, .microbatches = 2});
  Timeline timeline = play(program, length);
  timeline.spans[0].end += Duration(500);
  EXPECT_EQ(Rules(json::parse(write(timeline, program))).broken_rules.count("overlap on track 1"),
            1u);
}

TEST(TraceEvent, AnySpeedKeepsThem) {
  EXPECT_TRUE(rc::check([] {
    const Program program =
        pipeline({.devices = *rc::gen::inRange(1, 5), .microbatches = *rc::gen::inRange(1, 6)});
    const std::int64_t compute = *rc::gen::inRange(1, 5000), transfer = *rc::gen::inRange(1, 5000);
    const Timeline t = play(program, [&](const Task& task) {
      return Duration(task.kind == TaskKind::Compute ? compute : transfer);
    });
    RC_ASSERT(Rules(json::parse(write(t, program))).broken_rules.empty());
  }));
}

TEST(TraceEvent, NothingIsLostOfANanosecond) {
  const Program program = pipeline({.devices = 1, .microbatches = 1});
  Timeline timeline = play(program, length);
  timeline.spans.back().end = timeline.spans.back().start + Duration(123'456'789'012'345);
  const std::string text = write(timeline, program);
  EXPECT_NE(text.find("\"dur\":123456789012.345,"), std::string::npos);
  EXPECT_EQ(text.find("e+"), std::string::npos);
}

TEST(TraceEvent, SlicesSayWhatTheyAre) {
  const Program program = pipeline({.devices = 2, .microbatches = 2});
  const std::vector<std::string> places = {"node 0 gpu 0"};
  const json trace = json::parse(write(play(program, length), program, places));
  const auto find = [&](const std::string& name) {
    for (const json& e : trace["traceEvents"])
      if (e["name"] == name) return e;
    return json();
  };
  const json forward = find("forward 1");
  EXPECT_EQ(forward["cat"], "compute");
  EXPECT_EQ(forward["ts"], 1.0);
  EXPECT_EQ(forward["dur"], 1.0);
  EXPECT_EQ(forward["args"]["microbatch"], 1);
  EXPECT_EQ(forward["args"]["stage"], 0);
  EXPECT_EQ(forward["args"]["made by"], "test");
  const json reduce = find("reduce gradients 0");
  EXPECT_EQ(reduce["args"]["bytes"], 64);
  EXPECT_EQ(reduce["args"]["group"], "data");
  const Rules rules(trace);
  EXPECT_EQ(rules.names.at("stage 0 | node 0 gpu 0"), 1);
  EXPECT_EQ(rules.names.at("stage 1"), 1);
  EXPECT_EQ(rules.names.at("send forward"), 1);  // the last device sends nothing forward
}

TEST(TraceEvent, CountersAreTheMemoryWave) {
  const Program program = pipeline({.devices = 1, .microbatches = 2});
  const Timeline timeline = play(program, length);
  const MemoryWave wave = memory_wave(timeline, program, {0});
  const json trace = json::parse(write(timeline, program));
  std::size_t i = 0;
  for (const json& e : testing::non_empty(trace["traceEvents"])) {
    if (e["ph"] != "C") continue;
    ASSERT_LT(i, wave.samples.size());
    const MemoryWave::Sample& sample = wave.samples[i++];
    EXPECT_EQ(nanoseconds(e["ts"]), sample.at.count());
    std::int64_t sum = 0;
    for (const auto& [name, bytes] : e["args"].items()) sum += bytes.get<std::int64_t>();
    EXPECT_EQ(sum, total(sample.bytes).value);
  }
  EXPECT_EQ(i, wave.samples.size());
}

TEST(TraceEvent, NamesMayHoldAnyBytes) {
  Program program = pipeline({.devices = 1, .microbatches = 1});
  program.streams[0].name = "a\"b\\c\n\x01 \xff\xc3\xa9 \xed\xa0\x80 \xf0\x9f\x9a\x82 \xe2\x82";
  const json trace = json::parse(write(play(program, length), program));
  EXPECT_EQ(Rules(trace).names.count(
                "a\"b\\c\n\x01 \xef\xbf\xbd\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
                "\xf0\x9f\x9a\x82 \xef\xbf\xbd\xef\xbf\xbd"),
            1u);
}

TEST(TraceEvent, AnEmptyProgramIsATraceToo) {
  EXPECT_EQ(Rules(json::parse(write({}, {}))).slices, 0u);
}

}  // namespace
}  // namespace trainyard
