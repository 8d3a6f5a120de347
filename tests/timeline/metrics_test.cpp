#include "core/timeline/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/programs.h"

namespace trainyard {
namespace {

using std::chrono::milliseconds;
using testing::pipeline;
using testing::play;

constexpr Duration kForward = milliseconds(1), kBackward = milliseconds(2);

/// Forward 1 ms, backward 2 ms; everything else as told.
Timeline run(const Program& program, Duration transfer = {}, Duration reduce = {},
             Duration update = {}) {
  return play(program, [=](const Task& task) {
    if (task.kind == TaskKind::Collective) return reduce;
    if (task.kind != TaskKind::Compute) return transfer;
    return task.phase == Phase::Forward    ? kForward
           : task.phase == Phase::Backward ? kBackward
                                           : update;
  });
}

TEST(Metrics, MakespanAndBusyTimeOfGPipe) {
  for (int p : {1, 2, 5})
    for (int m : {1, 3, 8}) {
      const Program program = pipeline({.devices = p, .microbatches = m});
      const Timeline t = run(program);
      EXPECT_EQ(makespan(t), (m + p - 1) * (kForward + kBackward));
      for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p); ++d)
        EXPECT_EQ(busy(t, program, {d}), m * (kForward + kBackward));
      EXPECT_DOUBLE_EQ(bubble_fraction(t, program), (p - 1.0) / (m + p - 1));
      EXPECT_EQ(exposed_communication_fraction(t, program), 0);
    }
}

TEST(Metrics, AnEmptyTimelineTakesNoTime) {
  EXPECT_EQ(makespan({}), Duration{});
  EXPECT_EQ(bubble_fraction({}, {}), 0);
  EXPECT_EQ(memory_wave({}, {}, {0}).samples.size(), 1u);
}

TEST(Metrics, OverlappingLanesCountOnce) {
  Draft draft;
  Task task;
  task.stage = {0};
  const TaskId forward = draft.task(task);
  draft.add(draft.stream({0}, "wave 0", true), forward, 0, {});
  draft.add(draft.stream({0}, "wave 1", true, milliseconds(2)), forward, 1, {});
  const Program program = draft.finish();
  const Timeline t = play(program, [](const Task&) { return milliseconds(3); });
  EXPECT_EQ(makespan(t), milliseconds(5));
  EXPECT_EQ(busy(t, program, {0}), milliseconds(5));
  EXPECT_EQ(breakdown(t, program, {0}).forward, milliseconds(5));
  EXPECT_EQ(breakdown(t, program, {0}).bubble, Duration{});
}

TEST(Breakdown, GradientsThatNothingHidesAreDataParallel) {
  const Program program = pipeline({.devices = 1, .microbatches = 4});
  const Breakdown b = breakdown(run(program, {}, milliseconds(7), milliseconds(5)), program, {0});
  EXPECT_EQ(b.forward, 4 * kForward);
  EXPECT_EQ(b.backward, 4 * kBackward);
  EXPECT_EQ(b.data_parallel, milliseconds(7));
  EXPECT_EQ(b.optimizer, milliseconds(5));
  EXPECT_EQ(b.bubble, Duration{});
}

TEST(Breakdown, TransfersThatADeviceWaitsForArePipeline) {
  const Program program = pipeline({.devices = 2, .microbatches = 1});
  const Timeline t = run(program, milliseconds(10));
  // d0: F, send 10, d1: F B, send 10, d0: B.
  EXPECT_EQ(makespan(t), 2 * (kForward + kBackward) + milliseconds(20));
  const Breakdown first = breakdown(t, program, {0});
  EXPECT_EQ(first.pipeline + first.bubble, milliseconds(20) + kForward + kBackward);
  EXPECT_GE(first.pipeline, milliseconds(10));
}

// Device 1 waits for the result of device 0 and for its own weights, which are there first.
TEST(Breakdown, WeightsThatArriveDuringALongerWaitAreExposed) {
  Program program;
  program.devices = program.stages = 2;
  Task forward, gather;
  forward.phase = Phase::Forward;
  gather.kind = TaskKind::Collective;
  gather.group = Group::Data;
  program.tasks = {forward, gather};
  program.instructions.resize(3);
  program.instructions[0].task = program.instructions[2].task = TaskId{0};
  program.instructions[1].task = TaskId{1};
  program.instructions[2].afters = 2;
  program.after = {InstructionId{0}, InstructionId{1}};
  program.streams = {{DeviceId{0}, "compute", {}, true, 0, 1},
                     {DeviceId{1}, "comm", {}, false, 1, 1},
                     {DeviceId{1}, "compute", {}, true, 2, 1}};
  Timeline t;
  t.spans = {{milliseconds(0), milliseconds(10)},
             {milliseconds(2), milliseconds(6)},
             {milliseconds(10), milliseconds(11)}};
  const Breakdown b = breakdown(t, program, {1});
  EXPECT_EQ(b.forward, milliseconds(1));
  EXPECT_EQ(b.data_parallel, milliseconds(4));
  EXPECT_EQ(b.bubble, milliseconds(6));
}

TEST(Breakdown, RecomputationIsItsShareOfBackward) {
  const Program program = pipeline({.devices = 1, .microbatches = 3});
  std::vector<double> share(program.tasks.size(), 0);
  for (std::size_t i = 0; i < share.size(); ++i)
    if (program.tasks[i].phase == Phase::Backward) share[i] = 1.0 / 3;
  const Breakdown b = breakdown(run(program), program, {0}, share);
  EXPECT_EQ(b.recompute, 3 * Duration(666'667));
  EXPECT_EQ(b.backward + b.recompute, 3 * kBackward);
}

TEST(Breakdown, PartsSumToTheMakespanExactly) {
  EXPECT_TRUE(rc::check([] {
    const Program program =
        pipeline({.devices = *rc::gen::inRange(1, 6), .microbatches = *rc::gen::inRange(1, 8)});
    std::vector<std::int64_t> length(program.tasks.size());
    for (auto& l : length) l = *rc::gen::inRange(0, 100'000);
    const Timeline t = play(program, [&](const Task& task) {
      return Duration(length[static_cast<std::size_t>(&task - program.tasks.data())]);
    });
    const std::vector<double> share(program.tasks.size(), *rc::gen::element(0.0, 0.3, 1.0));
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(program.devices); ++d) {
      const Breakdown b = breakdown(t, program, {d}, share);
      RC_ASSERT(b.sum() == makespan(t));
      RC_ASSERT(b.forward + b.backward + b.recompute + b.optimizer == busy(t, program, {d}));
      for (Duration part :
           {b.forward, b.backward, b.recompute, b.optimizer, b.tensor_parallel, b.context_parallel,
            b.expert_parallel, b.pipeline, b.data_parallel, b.bubble})
        RC_ASSERT(part >= Duration{});
      RC_ASSERT(breakdown(t, program, critical_device(t, program)).bubble <= b.bubble);
    }
  }));
}

TEST(MemoryWave, RisesWithForwardAndFallsWithBackward) {
  const Program program = pipeline({.devices = 1, .microbatches = 2});
  const MemoryWave wave = memory_wave(run(program), program, {0});
  // At 0: weights, the first activations and workspace. Workspace is freed and taken again at 1 ms,
  // 2 ms, 4 ms.
  std::vector<std::pair<Instant, std::int64_t>> got;
  for (const auto& s : wave.samples) got.push_back({s.at, total(s.bytes).value});
  const std::vector<std::pair<Instant, std::int64_t>> expected = {
      {Instant{}, 1000 + 100 + 10},
      {milliseconds(1), 1000 + 200 + 10},
      {milliseconds(2), 1000 + 200 + 10},
      {milliseconds(4), 1000 + 100 + 10},
      {milliseconds(6), 1000}};
  EXPECT_EQ(got, expected);
  EXPECT_EQ(wave.peak, 1u);
  EXPECT_EQ(wave.samples[1].bytes[static_cast<std::size_t>(Category::Activations)], Bytes{200});
}

TEST(MemoryWave, SamplesIncreaseAndEndWhereTheyBegan) {
  EXPECT_TRUE(rc::check([] {
    const Program program =
        pipeline({.devices = *rc::gen::inRange(1, 5), .microbatches = *rc::gen::inRange(1, 8)});
    const Timeline t = run(program, Duration(*rc::gen::inRange(0, 1'000'000)));
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(program.devices); ++d) {
      const MemoryWave wave = memory_wave(t, program, {d});
      RC_ASSERT(wave.samples.front().at == Instant{});
      RC_ASSERT(total(wave.samples.back().bytes) == Bytes{1000});
      for (std::size_t i = 0; i < wave.samples.size(); ++i) {
        if (i > 0) RC_ASSERT(wave.samples[i - 1].at < wave.samples[i].at);
        const Bytes here = total(wave.samples[i].bytes),
                    most = total(wave.samples[wave.peak].bytes);
        RC_ASSERT((i < wave.peak ? here < most : here <= most));
        // Summing what is alive, one buffer at a time, gives the same result.
        Bytes alive{};
        for (const Alive& a : alive_at(t, program, {d}, wave.samples[i].at)) alive += a.bytes;
        RC_ASSERT(alive == here);
      }
    }
  }));
}

TEST(AliveAt, LargestFirst) {
  const Program program = pipeline({.devices = 1, .microbatches = 3});
  const std::vector<Alive> alive = alive_at(run(program), program, {0}, milliseconds(2));
  ASSERT_EQ(alive.size(), 3u);
  EXPECT_EQ(program.name(program.buffers[alive[0].buffer.value].name), "weights");
  EXPECT_EQ(alive[1].instances, 3);
  EXPECT_EQ(alive[1].bytes, Bytes{300});
  EXPECT_EQ(alive[2].bytes, Bytes{10});
}

TEST(LiveMicrobatches, GPipeKeepsAllOfThem) {
  const Program program = pipeline({.devices = 3, .microbatches = 5});
  for (std::uint32_t s = 0; s < 3; ++s) EXPECT_EQ(live_microbatches(run(program), program, {s}), 5);
}

}  // namespace
}  // namespace trainyard
