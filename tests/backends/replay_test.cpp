// Replay and recording: backends made of what a backend did.
#include "backends/replay.h"

#include <gtest/gtest.h>

#include "backends/recording.h"
#include "backends/simulator/simulator.h"
#include "core/base/digest.h"
#include "core/cost/cost_model.h"
#include "core/timeline/metrics.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

struct Simulated {
  Workload workload = prepare(testing::scenario(testing::gpt(), 2, {"pp=2", "global-batch=4"}));
  Program program = lower(workload);
  std::unique_ptr<CostModel> cost = roofline_cost_model();
  Simulator simulator{workload.scenario.plan.mesh, workload.scenario.cluster, *cost};
};

TEST(Recording, WritesDownWhatItWasAsked) {
  Simulated s;
  Recording recording(s.simulator);
  EXPECT_EQ(recording.name(), "simulator");
  const Timeline timeline = recording.run(s.program, {.seed = 7});
  ASSERT_EQ(recording.calls().size(), 1u);
  EXPECT_EQ(recording.calls()[0].program, digest(s.program));
  EXPECT_EQ(recording.calls()[0].seed, 7u);
  EXPECT_EQ(recording.calls()[0].timeline.spans, timeline.spans);
}

TEST(Replay, GivesBackTheRunThatWasWrittenDown) {
  Simulated s;
  TimelineDocument document{
      .timeline = s.simulator.run(s.program, {}), .waves = {}, .program = digest(s.program)};
  for (std::uint32_t d = 0; d < 2; ++d)
    document.waves.push_back(memory_wave(document.timeline, s.program, {d}));
  const std::string text = write_timeline(document);
  const TimelineDocument read = read_timeline(text, "t.json");
  EXPECT_EQ(write_timeline(read), text);
  EXPECT_EQ(read.waves[1].peak, document.waves[1].peak);
  Replay replay(read);
  EXPECT_TRUE(replay.check(s.program).empty());
  EXPECT_EQ(replay.run(s.program, {}).spans, document.timeline.spans);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(replay.run(s.program, {.stop = stop.get_token()}), Error);
}

TEST(Replay, RefusesAnotherProgram) {
  Simulated s;
  const Program other = lower(testing::scenario(testing::gpt(), 2, {"pp=2", "global-batch=8"}));
  const Replay replay(TimelineDocument{
      .timeline = s.simulator.run(s.program, {}), .waves = {}, .program = digest(s.program)});
  const Diagnostics found = replay.check(other);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "the recorded run is of program " + to_hex(digest(s.program)) +
                                  ", and this is program " + to_hex(digest(other)));
}

TEST(Replay, ATimelineThatEndsBeforeItStartsIsRefused) {
  try {
    read_timeline(R"({"schema": "trainyard/timeline@1", "clock": "measured", "backend": "cpu",
                      "program": "00000000000000aa", "spans": [[5, 4]], "waves": []})",
                  "t.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(describe(error), "t.json#/spans/0/1: expected a whole number of at least 5, found 4");
  }
}

}  // namespace
}  // namespace trainyard
