#include "visualizers/timeline/timeline_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/visualizers/small_experiment.h"
#include "visualizers/time/span_search.h"
#include "visualizers/viewmodel/peaks.h"

namespace trainyard {
namespace {

using namespace testing_experiment;

TimelineModel four_stages() { return timeline_model(experiment({4, 6})); }

std::vector<InstructionId> by_start(const TimelineModel& model) {
  const std::vector<Span>& spans = model.experiment->timeline.spans;
  std::vector<InstructionId> ids;
  for (std::uint32_t i = 0; i < spans.size(); ++i) ids.push_back({i});
  std::stable_sort(ids.begin(), ids.end(), [&](InstructionId a, InstructionId b) {
    return spans[a.value].start < spans[b.value].start;
  });
  return ids;
}

TEST(TimelineWalk, TheSameNameIsNextInTimeAndThenInTheProgram) {
  const TimelineModel model = four_stages();
  const Program& program = model.experiment->program;
  std::vector<InstructionId> forwards;
  for (const InstructionId id : by_start(model))
    if (program.name(program.task(id).name) == "forward") forwards.push_back(id);
  ASSERT_EQ(forwards.size(), 24u);
  for (std::size_t i = 0; i < forwards.size(); ++i) {
    EXPECT_EQ(same_name(model, forwards[i], +1),
              i + 1 < forwards.size() ? forwards[i + 1] : InstructionId{})
        << i;
    EXPECT_EQ(same_name(model, forwards[i], -1), i > 0 ? forwards[i - 1] : InstructionId{}) << i;
  }
}

TEST(TimelineWalk, TheNextDeviceDoesTheSameWork) {
  const TimelineModel model = four_stages();
  const Program& program = model.experiment->program;
  for (const std::uint32_t kind : {kForward, kBackward})
    for (int m = 0; m < 6; ++m)
      for (int stage = 0; stage < 4; ++stage) {
        const InstructionId id = find(program, stage, kind, m);
        EXPECT_EQ(on_device(model, id, +1),
                  stage < 3 ? find(program, stage + 1, kind, m) : InstructionId{});
        EXPECT_EQ(on_device(model, id, -1),
                  stage > 0 ? find(program, stage - 1, kind, m) : InstructionId{});
      }
}

TEST(TimelineWalk, BubblesFollowEachOtherRound) {
  const TimelineModel model = four_stages();
  for (std::size_t rank = 0; rank < 4; ++rank) {
    std::vector<TimeRange> naive;
    Instant end{};
    const SpanRow& row = model.spans.rows[model.ranks[rank].busy_row];
    for (std::uint32_t i = 0; i < row.count; ++i) {
      const RowSpan span = span_at(model.spans, model.ranks[rank].busy_row, i);
      if (span.start > end) naive.push_back({end, span.start});
      end = span.end;
    }
    for (Instant after{}; after <= model.end; after += 1ms) {
      const auto next = std::find_if(naive.begin(), naive.end(),
                                     [&](const TimeRange& b) { return b.from >= after; });
      EXPECT_EQ(bubble_after(model, rank, after), next == naive.end() ? naive.front() : *next)
          << rank << " " << after.count();
    }
  }
  EXPECT_FALSE(bubble_after(model, 9, Instant{}).has_value());
  const TimelineModel one = timeline_model(experiment({1, 1}));
  EXPECT_TRUE(bubble_after(one, 0, Instant{}).has_value()) << "before the update";
}

TEST(TimelineWalk, PeaksLeadThroughOneDeviceAndThenTheNext) {
  auto e = std::make_shared<Experiment>(*experiment({2, 4}));
  const std::int64_t heights[2][7] = {{1, 9, 2, 8, 3, 9, 1}, {5, 1, 6, 2, 2, 7, 7}};
  for (std::size_t d = 0; d < 2; ++d) {
    MemoryWave wave;
    for (int i = 0; i < 7; ++i) {
      wave.samples.push_back({Instant{i * 1'000'000}, {}});
      wave.samples.back().bytes[0] = Bytes{heights[d][i]};
      if (heights[d][i] > total(wave.samples[wave.peak].bytes).value)
        wave.peak = wave.samples.size() - 1;
    }
    e->waves[d] = wave;
  }
  const MemoryModel memory = memory_model(e);
  std::vector<PeakPlace> seen;
  std::optional<Instant> at;
  DeviceId device{0};
  for (int i = 0; i < 40; ++i) {
    const auto peak = next_peak(memory, device, at);
    ASSERT_TRUE(peak.has_value());
    if (!seen.empty() && *peak == seen.front()) break;
    seen.push_back(*peak);
    device = peak->device;
    at = Instant{memory.totals[device.value].at[peak->sample]};
  }
  std::vector<PeakPlace> expected;
  for (std::uint32_t d = 0; d < 2; ++d)
    for (const std::size_t sample : peaks_above(memory.totals[d], clear_rise(memory.totals[d])))
      expected.push_back({DeviceId{d}, sample});
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_FALSE(next_peak(MemoryModel{}, DeviceId{0}, {}).has_value());
}

TEST(TimelineWalk, AlongTheCriticalPathFromWhereverOneIs) {
  const TimelineModel model = four_stages();
  const std::vector<CriticalStep>& steps = model.path.steps;
  ASSERT_GT(steps.size(), 8u);
  InstructionId at = along_path(model, {}, Instant{}, +1);
  EXPECT_EQ(at, steps.front().id);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    at = along_path(model, at, Instant{}, +1);
    EXPECT_EQ(at, steps[i].id);
  }
  EXPECT_EQ(along_path(model, at, Instant{}, +1), steps.back().id);
  EXPECT_EQ(along_path(model, at, Instant{}, -1), steps[steps.size() - 2].id);
  EXPECT_FALSE(along_path(TimelineModel{}, {}, Instant{}, +1).valid());
}

TEST(SpanSearch, FindsWhatEachSpanSaysOfItself) {
  const TimelineModel model = four_stages();
  const Experiment& e = *model.experiment;
  for (const char* words : {"forward", "cat:backward dev:1-2", "mb:3,5", ">2ms", "-cat:forward",
                            "reduce", "dev:9", "", "<=2ms -dev:0"}) {
    const SpanQuery query = parse_span_query(words);
    std::vector<InstructionId> naive;
    for (const InstructionId id : by_start(model)) {
      const Task& task = e.program.task(id);
      const SpanFacts facts{e.program.name(task.name), static_cast<std::uint8_t>(ink_of(task)),
                            e.program.streams[place_of(model, id).row].device.value,
                            e.program.instructions[id.value].microbatch,
                            e.timeline.spans[id.value].length()};
      if (matches(query, facts)) naive.push_back(id);
    }
    EXPECT_EQ(find_spans(model, query).spans, naive) << words;
  }
}

TEST(SpanSearch, NextAndPreviousGoRound) {
  const TimelineModel model = four_stages();
  const SpanHits hits = find_spans(model, parse_span_query("cat:backward dev:1"));
  ASSERT_EQ(hits.spans.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(next_hit(model, hits, hits.spans[i], {}, +1), (i + 1) % 6);
    EXPECT_EQ(next_hit(model, hits, hits.spans[i], {}, -1), (i + 5) % 6);
  }
  const std::vector<Span>& spans = model.experiment->timeline.spans;
  for (Instant at{}; at <= model.end; at += 1ms) {
    const auto next = std::find_if(hits.spans.begin(), hits.spans.end(),
                                   [&](InstructionId id) { return spans[id.value].start >= at; });
    const auto place = static_cast<std::size_t>(next - hits.spans.begin());
    EXPECT_EQ(next_hit(model, hits, {}, at, +1), place % 6);
    EXPECT_EQ(next_hit(model, hits, {}, at, -1), (place + 5) % 6);
  }
  EXPECT_FALSE(next_hit(model, {}, {}, {}, +1).has_value());
}

}  // namespace
}  // namespace trainyard
