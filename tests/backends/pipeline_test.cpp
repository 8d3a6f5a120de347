// Flush pipelines on the simulator: makespans and live microbatches equal their formulas, to the
// nanosecond.
#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::run;

constexpr Duration kForward = 3'000'017ns, kBackward = 7'000'003ns;

TEST(GPipe, BubbleIsTheFillAndTheDrain) {
  for (int p = 1; p <= 16; ++p)
    for (int m = 1; m <= 64; ++m) {
      const auto ran = run({"gpipe", p, 1, m}, kForward, kBackward);
      ASSERT_EQ(makespan(ran.timeline), (m + p - 1) * (kForward + kBackward))
          << "p " << p << " m " << m;
      for (int s = 0; s < p; ++s)
        ASSERT_EQ(live_microbatches(ran.timeline, ran.program, {static_cast<std::uint32_t>(s)}), m);
    }
}

TEST(OneFOneB, TakesAsLongAsGPipeAndHoldsAtMostPMinusSMicrobatches) {
  for (int p = 1; p <= 16; ++p)
    for (int m = 1; m <= 64; ++m) {
      const auto ran = run({"1f1b", p, 1, m}, kForward, kBackward);
      ASSERT_EQ(makespan(ran.timeline), (m + p - 1) * (kForward + kBackward))
          << "p " << p << " m " << m;
      for (int s = 0; s < p; ++s)
        ASSERT_EQ(live_microbatches(ran.timeline, ran.program, {static_cast<std::uint32_t>(s)}),
                  std::min(m, p - s));
    }
}

// A known error in the literature: 8 stages and 32 microbatches take 39 slots of F + B under both
// schedules; 1F1B saves memory, with 8 live microbatches instead of 32.
TEST(OneFOneB, SavesMemoryNotTime) {
  const auto all = run({"gpipe", 8, 1, 32}, 1ms, 1ms), one = run({"1f1b", 8, 1, 32}, 1ms, 1ms);
  EXPECT_EQ(makespan(all.timeline), 78ms);
  EXPECT_EQ(makespan(one.timeline), 78ms);
  EXPECT_EQ(live_microbatches(all.timeline, all.program, {0}), 32);
  EXPECT_EQ(live_microbatches(one.timeline, one.program, {0}), 8);
}

TEST(Pipeline, BubbleFractionIsFillOverSpan) {
  for (const auto& [p, m] : {std::pair{4, 4}, {4, 8}, {8, 32}}) {
    const auto ran = run({"1f1b", p, 1, m}, 1ms, 2ms);
    EXPECT_DOUBLE_EQ(bubble_fraction(ran.timeline, ran.program), (p - 1.0) / (m + p - 1.0));
  }
}

// F and B of a whole device are v times those of a chunk: overhead (p - 1)(F + B) / v beyond m (F +
// B).
TEST(Interleaved, OverheadShrinksByTheChunks) {
  for (int p : {2, 4, 8})
    for (int v : {2, 3, 4})
      for (int m : {p, 2 * p, 4 * p, 8 * p}) {
        const auto ran = run({"interleaved", p, v, m}, kForward, kBackward);
        ASSERT_EQ(makespan(ran.timeline),
                  m * v * (kForward + kBackward) + (p - 1) * (kForward + kBackward))
            << "p " << p << " v " << v << " m " << m;
      }
}

// Peaks of SCH-04's check, in whole-device units at device 0: p (1 + (p - 1) / (p v)).
TEST(Interleaved, HoldsMoreThanOneFOneB) {
  struct Case {
    int p, v, m;
    double overhead, peak;
  };
  for (const Case& c :
       {Case{4, 2, 8, 4.5, 5.5}, Case{4, 2, 16, 4.5, 5.5}, Case{8, 4, 32, 5.25, 9.75}}) {
    const Duration unit = 4ms;  // F of a device; B is twice that
    const auto ran = run({"interleaved", c.p, c.v, c.m}, unit / c.v, 2 * unit / c.v);
    EXPECT_EQ(makespan(ran.timeline) - c.m * 3 * unit,
              Duration{static_cast<std::int64_t>(c.overhead * 4e6)});
    const MemoryWave wave = memory_wave(ran.timeline, ran.program, {0});
    const Bytes chunk =
        ran.program.buffers[alive_at(ran.timeline, ran.program, {0}, {}).front().buffer.value]
            .bytes;
    EXPECT_GT(chunk.value, 0);
    std::int64_t chunks = 0;
    for (const MemoryWave::Sample& s : wave.samples) {
      std::int64_t now = 0;
      for (const Alive& a : alive_at(ran.timeline, ran.program, {0}, s.at))
        if (ran.program.buffers[a.buffer.value].category == Category::Activations)
          now += a.instances;
      chunks = std::max(chunks, now);
    }
    EXPECT_DOUBLE_EQ(static_cast<double>(chunks) / c.v, c.peak);
    EXPECT_DOUBLE_EQ(c.peak, c.p * (1 + (c.p - 1.0) / (c.p * c.v)));
  }
}

// With equal stages and free transfers the closed forms are the simulator, and their live counts
// too.
TEST(ClosedForm, IsExactForEqualStages) {
  for (const char* name : {"gpipe", "1f1b", "interleaved"})
    for (int p : {1, 2, 4, 8})
      for (int m : {8, 16, 64}) {
        const int v = name == std::string("interleaved") ? 2 : 1;
        const auto ran = run({name, p, v, m}, kForward, kBackward);
        PipelineTimes times;
        times.forward.resize(static_cast<std::size_t>(p * v));
        times.backward = times.forward;
        for (ActionTime& a : times.forward) a.compute = kForward;
        for (ActionTime& a : times.backward) a.compute = kBackward;
        ScheduleShape shape;
        shape.devices = p, shape.stages = p * v, shape.microbatches = m;
        const PipelineEstimate closed = method(name).closed_form(shape, times);
        EXPECT_EQ(closed.span, makespan(ran.timeline)) << name << " p " << p << " m " << m;
        for (int d = 0; d < p; ++d) {
          int live = 0, sum = 0;
          const MemoryWave wave =
              memory_wave(ran.timeline, ran.program, {static_cast<std::uint32_t>(d)});
          const Bytes most =
              wave.samples[wave.peak].bytes[static_cast<std::size_t>(Category::Activations)];
          for (int c = 0; c < v; ++c) sum += closed.live[static_cast<std::size_t>(c * p + d)];
          for (const Alive& a : alive_at(ran.timeline, ran.program, {static_cast<std::uint32_t>(d)},
                                         wave.samples[wave.peak].at))
            if (ran.program.buffers[a.buffer.value].category == Category::Activations)
              live += a.instances;
          EXPECT_EQ(sum, live) << name << " p " << p << " m " << m << " device " << d << " "
                               << most.value;
        }
      }
}

}  // namespace
}  // namespace trainyard
