// Tests replay and recording: backends that repeat or record what another backend did.
#include "backends/replay.h"

#include <gtest/gtest.h>

#include "backends/recording.h"
#include "backends/simulator/simulator.h"
#include "core/base/digest.h"
#include "core/cost/cost_model.h"
#include "core/io/bytes/files.h"
#include "core/timeline/metrics.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

struct Simulated {
  Workload workload = prepare(testing::scenario(testing::gpt(), 2, {"pp=2", "global-batch=4"}));
  Program program = lower(workload);
  TaskPrices prices = price(program, workload.scenario.plan.mesh, workload.scenario.cluster,
                            *roofline_cost_model());
  Simulator simulator{{workload, program, prices}};
  std::string path = ::testing::TempDir() + "replay_test.json";
};

TEST(Recording, KeepsTheTimelineForAReplay) {
  Simulated s;
  Recording recording(s.simulator, digest(s.program), s.path);
  EXPECT_EQ(recording.name(), "simulator");
  const BackendRun run = recording.run({});
  const std::string text = read_file(s.path);
  EXPECT_EQ(write_timeline(read_timeline(text, "t.json")), text);
  Replay replay = Replay::of_file(s.path, s.program);
  const BackendRun again = replay.run({});
  EXPECT_EQ(again.timeline.spans, run.timeline.spans);
  EXPECT_EQ(again.timeline.backend, "simulator");
  ASSERT_EQ(again.waves.size(), 2u);
  EXPECT_EQ(again.waves[1].peak, run.waves[1].peak);
  EXPECT_EQ(again.memory[1].most, peak_of(run.waves[1]));
  EXPECT_EQ(again.step_times, std::vector<Duration>{makespan(run.timeline)});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(replay.run({.stop = stop.get_token()}), Error);
}

TEST(Replay, TakesTheMemoryThatItsTimelineImplies) {
  Simulated s;
  const BackendRun run = s.simulator.run();
  Replay replay({.timeline = run.timeline, .waves = {}, .program = digest(s.program)}, s.program,
                "t.json");
  EXPECT_EQ(peak_of(replay.run({}).waves.at(1)), peak_of(run.waves.at(1)));
}

TEST(Replay, RefusesAnotherProgram) {
  Simulated s;
  const Program other = lower(testing::scenario(testing::gpt(), 2, {"pp=2", "global-batch=8"}));
  try {
    Replay({.timeline = s.simulator.run().timeline, .waves = {}, .program = digest(s.program)},
           other, "t.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(describe(error), "t.json#/program: expected a timeline of program " +
                                   to_hex(digest(other)) +
                                   ", which this model, cluster and plan make, found one of "
                                   "program " +
                                   to_hex(digest(s.program)));
  }
}

TEST(Replay, ATimelineThatEndsBeforeItStartsIsRefused) {
  try {
    read_timeline(R"({"schema": "trainyard/timeline@1", "clock": "measured", "backend": "cpu",
                      "program": "00000000000000aa", "spans": [[5, 4]], "waves": []})",
                  "t.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(describe(error),
              "t.json#/spans/0/1: expected a whole number from 5 to 2305843009213693952, found 4");
  }
}

}  // namespace
}  // namespace trainyard
