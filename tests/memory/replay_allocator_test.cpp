// Tests the replay on programs whose allocations are known, and against their memory waves.
#include "core/memory/replay_allocator.h"

#include <gtest/gtest.h>

#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

// Every instruction takes a microsecond, one after the other in the order of their waits.
Timeline one_after_the_other(const Program& p) {
  Timeline t;
  t.spans.resize(p.instructions.size());
  std::vector<std::uint32_t> next(p.streams.size(), 0);
  std::vector<bool> done(p.instructions.size(), false);
  Instant now{};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < p.streams.size(); ++s) {
      const Stream& stream = p.streams[s];
      if (next[s] == stream.count) continue;
      const std::uint32_t i = stream.first + next[s];
      const Instruction& in = p.instructions[i];
      bool ready = true;
      for (std::uint32_t a = in.first_after; a < in.first_after + in.afters; ++a)
        ready = ready && done[p.after[a].value];
      if (!ready) continue;
      t.spans[i] = {now, now + Duration{1000}};
      now += Duration{1000};
      done[i] = true, ++next[s], moved = true;
    }
  }
  return t;
}

Scenario small_gpt() {
  Scenario s{zoo_model("gpt2-small"), make_cluster(device("h100-sxm"), 1), {}};
  s.plan.batch = {2, 1, 256};
  return s;
}

TEST(ReplayAllocator, ReservesWhatTheWaveHoldsAndLittleMore) {
  const Workload w = prepare(small_gpt());
  const Program p = lower(w, {.grain = Grain::Op});
  const Timeline t = one_after_the_other(p);
  const MemoryWave wave = memory_wave(t, p, DeviceId{0});
  Bytes most{};
  for (const MemoryWave::Sample& sample : wave.samples)
    most = std::max(most, total(sample.bytes) - sample.bytes[0]);
  const AllocatorReplay replay = replay_allocator(p, t, DeviceId{0});
  EXPECT_EQ(replay.requested, most);
  EXPECT_GE(replay.allocated, replay.requested);
  EXPECT_GE(replay.reserved, replay.allocated);
  EXPECT_LT(static_cast<double>(replay.reserved.value), 1.25 * static_cast<double>(most.value));
  EXPECT_EQ(replay.retries, 0);
  EXPECT_FALSE(replay.ran_out);
}

TEST(ReplayAllocator, SaysSoWhereTheDeviceIsTooSmall) {
  const Workload w = prepare(small_gpt());
  const Program p = lower(w, {.grain = Grain::Op});
  const Timeline t = one_after_the_other(p);
  const AllocatorReplay whole = replay_allocator(p, t, DeviceId{0});
  const AllocatorReplay less =
      replay_allocator(p, t, DeviceId{0}, {.capacity = Bytes{whole.requested.value * 9 / 10}});
  EXPECT_TRUE(less.ran_out);
  EXPECT_GT(less.retries, 0);
  EXPECT_LE(less.reserved, Bytes{whole.requested.value * 9 / 10});
}

TEST(ReplayAllocator, ExpandableSegmentsReserveNoMore) {
  const Workload w = prepare(small_gpt());
  const Program p = lower(w, {.grain = Grain::Op});
  const Timeline t = one_after_the_other(p);
  const AllocatorReplay plain = replay_allocator(p, t, DeviceId{0}),
                        expandable =
                            replay_allocator(p, t, DeviceId{0}, {.expandable_segments = true});
  EXPECT_EQ(plain.requested, expandable.requested);
  EXPECT_LE(expandable.reserved, plain.reserved + Bytes{22 << 20});
}

}  // namespace
}  // namespace trainyard
