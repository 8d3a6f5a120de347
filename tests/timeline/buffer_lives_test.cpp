#include "core/timeline/buffer_lives.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/timeline/metrics.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using std::chrono::milliseconds;
using testing::pipeline;
using testing::play;

// At every instant as many lives as alive_at() counts instances.
TEST(BufferLives, AreAliveWhenTheMemoryWaveSaysSo) {
  EXPECT_TRUE(rc::check([] {
    const Program p =
        pipeline({.devices = *rc::gen::inRange(1, 4), .microbatches = *rc::gen::inRange(1, 6)});
    const int forward = *rc::gen::inRange(1, 4), backward = *rc::gen::inRange(1, 4);
    const Timeline t = play(p, [&](const Task& task) {
      if (task.kind != TaskKind::Compute) return Duration{milliseconds(1)};
      return Duration{milliseconds(task.phase == Phase::Forward ? forward : backward)};
    });
    for (std::uint32_t b = 0; b < p.buffers.size(); ++b) {
      const std::vector<BufferLife> lives = lives_of(t, p, {b});
      for (Instant at{}; at < makespan(t); at += milliseconds(1)) {
        int expected = 0, found = 0;
        for (const Alive& alive : alive_at(t, p, p.buffers[b].device, at))
          if (alive.buffer.value == b) expected = alive.instances;
        for (const BufferLife& life : lives) found += life.alive(at) ? 1 : 0;
        RC_ASSERT(found == expected);
      }
    }
  }));
}

TEST(BufferLives, OfActivationsGoFromForwardToBackwardOfTheirMicrobatch) {
  const Program p = pipeline({.devices = 1, .microbatches = 3});
  const Timeline t = play(p, [](const Task& task) {
    return task.kind == TaskKind::Compute ? milliseconds(1) : milliseconds(0);
  });
  // Buffers of a stage: weights, activations, workspace. GPipe: F0 F1 F2 B0 B1 B2.
  const std::vector<BufferLife> lives = lives_of(t, p, {1});
  ASSERT_EQ(lives.size(), 3u);
  for (int m = 0; m < 3; ++m) {
    const BufferLife& life = lives[static_cast<std::size_t>(m)];
    EXPECT_EQ(life.microbatch, m);
    EXPECT_EQ(life.from, milliseconds(m));
    EXPECT_EQ(life.to, milliseconds(4 + m));
    EXPECT_EQ(describe(p, life.allocated), "stage 0 F" + std::to_string(m));
    EXPECT_EQ(describe(p, life.released), "stage 0 B" + std::to_string(m));
  }
  const std::vector<BufferLife> weights = lives_of(t, p, {0});
  ASSERT_EQ(weights.size(), 1u);
  EXPECT_EQ(weights[0].to, makespan(t));
  EXPECT_FALSE(weights[0].allocated.valid());
}

}  // namespace
}  // namespace trainyard
