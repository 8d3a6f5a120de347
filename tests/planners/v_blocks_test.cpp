#include "planners/schedules/v_blocks.h"

#include <gtest/gtest.h>

#include "tests/planners/problems.h"

namespace trainyard {
namespace {

// Checks that every pass occurs once and after what it needs, and that the limit is kept if the
// block itself keeps it.
void expect_whole(const Pipeline& p, const Lanes& lanes, const std::string& what) {
  ASSERT_EQ(lanes.steps.size(), p.lane_length() * static_cast<std::size_t>(p.devices)) << what;
  EXPECT_NE(LaneClock(p).time(lanes), nullptr) << what;
}

TEST(VBlocks, CompactedLanesAreWholeWhateverTheLimit) {
  for (const VBlock block : {VBlock{2, 1, 2, 1, 4, 2}, VBlock{1, 1, 1, 1, 1, 1},
                             VBlock{1, 3, 2, 3, 4, 1}, VBlock{2, 3, 1, 4, 1, 1}})
    for (const bool split : {true, false})
      for (const int p : {1, 2, 3, 4, 8})
        for (const int m : {1, 2, 5, 12, 24})
          for (const std::int64_t limit : {0, 2, p, p + 2, 2 * p}) {
            ScheduleProblem problem =
                equal_stages(p, 2, m, {10, 10, 10, 1}, std::max<std::int64_t>(limit, 2));
            if (limit == 0) problem.limits.clear();
            problem.split_backward = split;
            const Pipeline pipeline = make_pipeline(problem);
            const std::vector<std::int32_t> cells = cells_of(pipeline, block);
            if (cells.empty()) continue;
            for (const bool steady : {false, true})
              expect_whole(pipeline, compacted(pipeline, cells, steady),
                           std::to_string(p) + " devices, " + std::to_string(m) +
                               " microbatches, limit " + std::to_string(limit));
          }
}

// V-Half's block on four devices: half of 1F1B's activations, and what is idle at both ends taken.
TEST(VBlocks, CompactedVHalfIsShorterAndKeepsHalf) {
  const Pipeline p = make_pipeline(equal_stages(4, 2, 12, {10, 10, 10, 0}, 6));
  const std::vector<std::int32_t> cells = cells_of(p, {2, 1, 2, 1, 4, 2});
  WeightPlacer placer(p);
  const Placed* repeated_lanes = placer.place(repeated(p, cells), 0);
  ASSERT_NE(repeated_lanes, nullptr);
  const Ticks before = score_of(p, repeated_lanes->ends, ScheduleObjective::Makespan).first;
  const Lanes lanes = compacted(p, cells, false);
  EXPECT_TRUE(fits(p, lanes));
  EXPECT_EQ(before, 810);
  LaneClock clock(p);
  EXPECT_EQ(score_of(p, *clock.time(lanes), ScheduleObjective::Makespan).first, 770);
}

}  // namespace
}  // namespace trainyard
