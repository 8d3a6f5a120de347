#include <gtest/gtest.h>

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

TEST(Interleaved, ChunksTakeTurnsOfAPipelineful) {
  EXPECT_EQ(to_text(interleaved_1f1b().order({.devices = 2, .stages = 4, .microbatches = 4}, {})),
            "d0/compute  0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3\n"
            "d1/compute  1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3\n");
}

TEST(Interleaved, WarmUpFollowsTheFormula) {
  for (int p = 1; p <= 6; ++p)
    for (int v = 2; v <= 4; ++v)
      for (int turns = 1; turns <= 4; ++turns) {
        const int m = p * turns;
        const ScheduleShape shape{.devices = p, .stages = p * v, .microbatches = m};
        const Order order = interleaved_1f1b().order(shape, {});
        EXPECT_TRUE(check(order, shape).empty());
        for (int r = 0; r < p; ++r) {
          const auto& actions = order.lanes[static_cast<std::size_t>(r)].actions;
          const auto first = std::find_if(actions.begin(), actions.end(), [](const Action& a) {
            return a.phase == Phase::Backward;
          });
          // There is one more forward than the warm-up has, unless the warm-up is everything.
          EXPECT_EQ(first - actions.begin(), std::min(m * v, 2 * (p - r - 1) + (v - 1) * p + 1));
        }
      }
}

Diagnostics check_with(int virtual_stages, int pp, std::int64_t global) {
  Scenario scenario;
  scenario.plan.virtual_stages = virtual_stages;
  scenario.plan.mesh.pp = pp;
  scenario.plan.mesh.dp = 2;
  scenario.plan.batch = {.global = global, .micro = 4, .sequence = 1};
  return interleaved_1f1b().check(scenario, {});
}

TEST(Interleaved, NeedsWholeTurnsOfSeveralChunks) {
  EXPECT_TRUE(check_with(2, 4, 64).empty());
  const Diagnostics found = check_with(1, 4, 80);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].message,
            "interleaved needs at least 2 virtual stages per device, and virtual-stages is 1");
  EXPECT_EQ(found[1].message,
            "interleaved works in turns of pp=4 microbatches, and 10 do not divide into them");
  EXPECT_EQ(found[1].fix, "global-batch=96");  // 12 microbatches of 4 on 2 ranks
}

}  // namespace
}  // namespace trainyard
