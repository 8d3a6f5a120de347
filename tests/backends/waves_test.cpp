// Tests several waves on one device or pipeline: the gain from sharing by occupancy (Wavelet's
// sheet), on hand-written programs.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/lowering/draft.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

constexpr Duration kForward = 1ms, kBackward = 2ms, kCycle = kForward + kBackward;
constexpr int kCycles = 20;

struct Fills {
  double forward, backward;
};

// Each wave is a lane of one device: forward, backward, forward, backward ...
Program one_device(int waves, Duration offset) {
  Draft draft;
  Task forward, backward;
  forward.stage = backward.stage = {0};
  backward.phase = Phase::Backward;
  const TaskId f = draft.task(forward), b = draft.task(backward);
  for (int w = 0; w < waves; ++w) {
    const std::uint32_t lane = draft.stream({0}, "wave " + std::to_string(w), true, offset * w);
    for (int i = 0; i < kCycles; ++i) {
      draft.add(lane, f, i, {}, static_cast<std::int16_t>(w));
      draft.add(lane, b, i, {}, static_cast<std::int16_t>(w));
    }
  }
  return draft.finish();
}

TaskPrices prices_of(const Program& p, Fills fills) {
  TaskPrices prices = testing::fixed_prices(p, kForward, kBackward);
  for (std::size_t t = 0; t < p.tasks.size(); ++t)
    if (p.tasks[t].kind == TaskKind::Compute)
      prices.fill[t] = p.tasks[t].phase == Phase::Forward ? fills.forward : fills.backward;
  return prices;
}

// The speedup of two waves half a cycle apart over one wave that does all the cycles.
double speedup(Fills fills) {
  const Program p = one_device(2, kCycle / 2);
  const Duration together = makespan(simulate(p, prices_of(p, fills)));
  return to_seconds(2 * kCycles * kCycle) / to_seconds(together);
}

TEST(TickTock, GainsWhatOneWaveLeavesUnfilled) {
  EXPECT_NEAR(speedup({0.4, 0.6}), 1.83, 0.01);
  EXPECT_NEAR(speedup({0.5, 0.5}), 1.95, 0.01);
  EXPECT_NEAR(speedup({0.6, 0.8}), 1.34, 0.015);
}

TEST(TickTock, GainsNothingWhereOneWaveFillsTheDevice) {
  EXPECT_LE(speedup({1, 1}), 1.05);
  EXPECT_GE(speedup({1, 1}), 0.99);
}

// Sharing cannot exceed the device's capacity: the gain is at most the inverse of the mean share
// that one wave takes.
TEST(TickTock, NeverGainsMoreThanIsIdle) {
  for (const Fills f : {Fills{0.2, 0.3}, {0.4, 0.6}, {0.6, 0.8}, {0.7, 0.9}, {0.9, 1}, {1, 1}}) {
    const double mean = (f.forward + 2 * f.backward) / 3;
    EXPECT_LE(speedup(f), std::min(2.0, 1 / mean) + 1e-9) << f.forward << " " << f.backward;
  }
}

// Model parallel: each wave runs forward through all devices and backward through them again, one
// at a time. A backward is followed by a collective in which the stage's weights are brought
// together with those of the other waves; the wave goes on after it, other waves compute beside it.
struct ModelParallel {
  int devices = 8, waves = 8, rounds = 20;
  Duration forward = 1ms, backward = 1ms, synchronise{};
};

Program model_parallel(const ModelParallel& shape) {
  Draft draft;
  const Duration cycle = shape.devices * (shape.forward + shape.backward + shape.synchronise);
  std::vector<TaskId> f, b, s;
  for (int d = 0; d < shape.devices; ++d) {
    Task task;
    task.stage = {static_cast<std::uint32_t>(d)};
    f.push_back(draft.task(task));
    task.phase = Phase::Backward;
    b.push_back(draft.task(task));
    task.kind = TaskKind::Collective;
    s.push_back(draft.task(task));
  }
  const auto at = [](int d) { return static_cast<std::size_t>(d); };
  for (int w = 0; w < shape.waves; ++w) {
    const auto wave = static_cast<std::int16_t>(w);
    std::vector<std::uint32_t> lanes, links;
    for (int d = 0; d < shape.devices; ++d) {
      const DeviceId device{static_cast<std::uint32_t>(d)};
      lanes.push_back(
          draft.stream(device, "wave " + std::to_string(w), true, cycle * w / shape.waves));
      links.push_back(draft.stream(device, "synchronise " + std::to_string(w), false));
    }
    Refs after;
    const auto add = [&](std::uint32_t stream, TaskId task, int round) {
      const Ref done = draft.add(stream, task, round, after, wave);
      after = {};
      after.add(done);
    };
    for (int round = 0; round < shape.rounds; ++round) {
      for (int d = 0; d < shape.devices; ++d) add(lanes[at(d)], f[at(d)], round);
      for (int d = shape.devices; d-- > 0;) {
        add(lanes[at(d)], b[at(d)], round);
        if (shape.waves > 1) add(links[at(d)], s[at(d)], round);
      }
    }
  }
  Program program = draft.finish();
  program.devices = program.stages = shape.devices;
  return program;
}

double rounds_per_second(const ModelParallel& shape, double fill) {
  const Program p = model_parallel(shape);
  TaskPrices prices = prices_of(p, {fill, fill});
  for (std::size_t t = 0; t < p.tasks.size(); ++t)
    prices.time[t] = p.tasks[t].kind == TaskKind::Collective ? shape.synchronise
                     : p.tasks[t].phase == Phase::Forward    ? shape.forward
                                                             : shape.backward;
  const Timeline t = simulate(p, prices);
  // The pace in the middle half of the run, when every wave is active.
  std::vector<Instant> ends;
  for (std::uint32_t i = 0; i < p.instructions.size(); ++i) {
    const Task& task = p.task(InstructionId{i});
    if (task.kind == TaskKind::Compute && task.phase == Phase::Backward && task.stage.value == 0)
      ends.push_back(t.spans[i].end);
  }
  std::sort(ends.begin(), ends.end());
  const std::size_t low = ends.size() / 4, high = 3 * ends.size() / 4;
  return static_cast<double>(high - low) / to_seconds(ends[high] - ends[low]);
}

// Wavelet's "up to 6.7x" is eight waves on eight devices against one wave on the same eight, the
// model-parallel comparison; two data-parallel waves cannot exceed 2. Communication takes 16 % of a
// wave's cycle, and of each device's time.
TEST(TickTock, EightModelParallelWavesGainSixPointSeven) {
  ModelParallel one, eight;
  one.waves = 1;
  eight.synchronise = Duration{static_cast<std::int64_t>(
      0.16 / 0.84 * static_cast<double>((eight.forward + eight.backward).count()))};
  const double gain = rounds_per_second(eight, 0.8) / rounds_per_second(one, 0.8);
  EXPECT_NEAR(gain, 6.7, 0.05 * 6.7);
}

TEST(TickTock, ModelParallelWavesNeverGainMoreThanTheDevices) {
  for (const int waves : {1, 2, 4, 8, 12}) {
    ModelParallel one, several;
    one.waves = 1;
    several.waves = waves;
    const double gain = rounds_per_second(several, 0.8) / rounds_per_second(one, 0.8);
    EXPECT_LE(gain, std::min(waves, 8) / 0.8 + 0.01) << waves;
    EXPECT_LE(gain, waves + 0.01) << waves;
  }
}

}  // namespace
}  // namespace trainyard
