#include "core/timeline/compare.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/non_empty.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::pipeline;
using testing::play;

struct Played {
  Timeline timeline;
  std::vector<MemoryWave> waves;
  operator TimedWaves() const { return {timeline, waves}; }
};

Played played(const Program& program, Duration forward, Duration backward, Duration transfer = {}) {
  Played run{play(program,
                  [=](const Task& task) {
                    if (task.kind != TaskKind::Compute) return transfer;
                    return task.phase == Phase::Forward ? forward : backward;
                  }),
             {}};
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(program.devices); ++d)
    run.waves.push_back(memory_wave(run.timeline, program, {d}));
  return run;
}

TEST(Compare, ARunIsLikeItself) {
  const Program program = pipeline({.devices = 3, .microbatches = 5});
  const Played run = played(program, milliseconds(1), milliseconds(2));
  const TimelineComparison c = compare(program, run, run);
  EXPECT_EQ(c.step_share(), 0);
  for (const CauseResidual& cause : testing::non_empty(c.causes))
    EXPECT_EQ(cause.difference(), Duration{});
  ASSERT_EQ(c.waves.size(), 3u);
  for (const WaveResidual& wave : testing::non_empty(c.waves)) {
    EXPECT_GT(wave.predicted_peak, 0_B);
    EXPECT_EQ(wave.peak_share(), 0);
    EXPECT_EQ(wave.over_time, 0_B);
    EXPECT_EQ(wave.over_work, 0_B);
  }
}

// If everything is twice as slow, half of the time is missing from the prediction, but no byte of
// its wave.
TEST(Compare, AStretchInTimeIsNoErrorOfMemory) {
  const Program program = pipeline({.devices = 2, .microbatches = 4});
  const TimelineComparison c = compare(program, played(program, milliseconds(1), milliseconds(2)),
                                       played(program, milliseconds(2), milliseconds(4)));
  EXPECT_DOUBLE_EQ(c.step_share(), 1);
  EXPECT_EQ(c.measured_step, 2 * c.predicted_step);
  for (const WaveResidual& wave : testing::non_empty(c.waves)) {
    EXPECT_EQ(wave.over_time, 0_B);
    EXPECT_EQ(wave.over_work, 0_B);
  }
}

// For any times, the differences by cause sum to the difference of the step.
TEST(Compare, CausesSumToTheDifference) {
  EXPECT_TRUE(rc::check([] {
    const Program program =
        pipeline({.devices = *rc::gen::inRange(1, 5), .microbatches = *rc::gen::inRange(1, 7)});
    const auto some = [] { return nanoseconds(*rc::gen::inRange(1, 1000000)); };
    const Played a = played(program, some(), some(), some()),
                 b = played(program, some(), some(), some());
    const TimelineComparison c = compare(program, a, b);
    Duration sum{};
    for (const CauseResidual& cause : c.causes) sum += cause.difference();
    RC_ASSERT(sum == c.measured_step - c.predicted_step);
    for (const WaveResidual& wave : testing::non_empty(c.waves))
      RC_ASSERT(wave.measured_peak == wave.predicted_peak);
  }));
}

// Two devices, forwards of one, backwards and updates of two: each works 4 x 3 + 2 of 17 units, and
// waits for three.
TEST(Compare, SharesOfWorkAndWaitAreOfTheWholeStep) {
  const Program program = pipeline({.devices = 2, .microbatches = 4});
  const TimelineComparison c = compare(program, played(program, milliseconds(1), milliseconds(2)),
                                       played(program, milliseconds(2), milliseconds(4)));
  EXPECT_EQ(c.predicted_step, milliseconds(17));
  EXPECT_EQ(c.measured_step, milliseconds(34));
  EXPECT_DOUBLE_EQ(c.predicted_bubble, 3.0 / 17);
  EXPECT_DOUBLE_EQ(c.measured_bubble, 3.0 / 17);
  ASSERT_EQ(c.busy.size(), 2u);
  for (const BusyShares& busy : testing::non_empty(c.busy)) {
    EXPECT_DOUBLE_EQ(busy.predicted, 14.0 / 17);
    EXPECT_DOUBLE_EQ(busy.measured, 14.0 / 17);
  }
}

TEST(Compare, ThePeakFurthestApartIsTold) {
  const Program program = pipeline({.devices = 2, .microbatches = 4});
  const Played predicted = played(program, milliseconds(1), milliseconds(2));
  EXPECT_EQ(compare(program, predicted, predicted).peak_share(), 0);
  Played measured = predicted;
  for (MemoryWave::Sample& sample : measured.waves[1].samples)
    for (Bytes& bytes : sample.bytes) bytes = Bytes{bytes.value / 2};
  EXPECT_DOUBLE_EQ(compare(program, predicted, measured).peak_share(), -0.5);
}

TEST(Compare, BytesThatWereNotPredictedAreFound) {
  const Program program = pipeline({.devices = 2, .microbatches = 4});
  const Played predicted = played(program, milliseconds(1), milliseconds(2));
  Played measured = predicted;
  MemoryWave& wave = measured.waves[1];
  wave.samples[wave.peak].bytes[static_cast<std::size_t>(Category::Workspace)] += 777_B;
  const TimelineComparison c = compare(program, predicted, measured);
  EXPECT_EQ(c.waves[0].over_work, 0_B);
  EXPECT_EQ(c.waves[1].over_work, 777_B);
  EXPECT_EQ(c.waves[1].over_time, 777_B);
  EXPECT_EQ(c.waves[1].measured_peak - c.waves[1].predicted_peak, 777_B);
  EXPECT_EQ(c.waves[1].measured_most[static_cast<std::size_t>(Category::Workspace)] -
                c.waves[1].predicted_most[static_cast<std::size_t>(Category::Workspace)],
            777_B);
}

}  // namespace
}  // namespace trainyard
