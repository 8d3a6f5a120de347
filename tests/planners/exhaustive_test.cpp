// In small cases, what solve() finds and proves equals what trying everything finds.
#include <gtest/gtest.h>

#include "tests/planners/brute_force.h"
#include "tests/planners/problems.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

constexpr Ratio kRatios[] = {{10, 10, 10, 1}, {10, 12, 8, 0}, {7, 13, 5, 3}};

Duration value_of(const SolvedSchedule& s, ScheduleObjective objective) {
  return objective == ScheduleObjective::Makespan ? s.timing.makespan : s.timing.longest_span;
}

void expect_shortest(const ScheduleProblem& problem, ScheduleObjective objective, bool in_sequence,
                     const std::string& what) {
  const SolvedSchedule solved = solve(problem, {.objective = objective});
  EXPECT_TRUE(check(solved.order, shape_of(problem)).empty()) << what;
  EXPECT_TRUE(solved.optimal) << what;
  EXPECT_EQ(solved.lower_bound, value_of(solved, objective)) << what;
  EXPECT_EQ(value_of(solved, objective), BruteForce(problem, objective, in_sequence).shortest())
      << what << ", found by " << solved.found_by;
  for (std::size_t d = 0; d < problem.limits.size(); ++d)
    EXPECT_LE(solved.timing.peaks[d], problem.limits[d]) << what;
}

// Every count up to these, three ratios, no limit and limits of 1 to 3 microbatches.
void expect_all_shortest(int chunks, int most_devices, int microbatches, bool split,
                         ScheduleObjective objective, bool in_sequence = true) {
  for (int p = 1; p <= most_devices; ++p)
    for (const Ratio& r : kRatios)
      for (int limit = 0; limit < std::min(4, microbatches); ++limit) {
        // 194 million orders are too many for a test; solve() found 223 ns, and so did this.
        const bool too_long = split && chunks * p * microbatches == 16 && r.transfer == 3;
        if (too_long && limit == 2) continue;
        ScheduleProblem problem = equal_stages(p, chunks, microbatches, r, limit * chunks);
        problem.split_backward = split;
        expect_shortest(problem, objective, in_sequence,
                        std::to_string(p) + " devices, forward " + std::to_string(r.forward) +
                            ", limit " + std::to_string(limit));
      }
}

class Exhaustive : public ::testing::TestWithParam<int> {};
// The brute force is this test's own code, which sanitizers slow down most: they try two.
INSTANTIATE_TEST_SUITE_P(Microbatches, Exhaustive,
                         ::testing::Range(1, static_cast<int>(testing::cases(5, 3))));

TEST_P(Exhaustive, PipelineWithSplitBackward) {
  expect_all_shortest(1, 3, GetParam(), true, ScheduleObjective::Makespan);
}
TEST_P(Exhaustive, PipelineWithWholeBackward) {
  expect_all_shortest(1, 3, GetParam(), false, ScheduleObjective::Makespan);
}
TEST_P(Exhaustive, VWithWholeBackward) {
  expect_all_shortest(2, 2, GetParam(), false, ScheduleObjective::Makespan);
}
TEST_P(Exhaustive, VWithSplitBackward) {
  expect_all_shortest(2, 2, GetParam(), true, ScheduleObjective::Makespan);
}
TEST_P(Exhaustive, LongestSpan) {
  if (GetParam() < 4) expect_all_shortest(1, 3, GetParam(), true, ScheduleObjective::Span);
}

// Microbatches may be taken in any sequence on any stage, and it does not help.
TEST_P(Exhaustive, OvertakingIsNoUse) {
  if (GetParam() > 3) return;
  expect_all_shortest(1, 2, GetParam(), true, ScheduleObjective::Makespan, false);
  if (GetParam() < 3)
    expect_all_shortest(1, 3, GetParam(), true, ScheduleObjective::Makespan, false);
  if (GetParam() < 3)
    expect_all_shortest(2, 2, GetParam(), false, ScheduleObjective::Makespan, false);
}

// Uneven stages, chunks in turn, two kinds of bytes, a limit of its own on each device.
TEST(ExhaustiveSearch, UnevenStages) {
  int tried = 0;
  for (std::uint64_t seed = 0; tried < 60; ++seed) {
    const ScheduleProblem problem = random_problem(seed, 3, 3);
    if (problem.stages.size() * static_cast<std::size_t>(problem.microbatches) > 8) continue;
    ++tried;
    expect_shortest(problem, ScheduleObjective::Makespan, true, "seed " + std::to_string(seed));
  }
}

TEST(ExhaustiveSearch, IdlesBesideReadyWorkWhereThatIsShorter) {
  // A long weight gradient is ready first, but the first device waits for the short input gradient
  // that arrives a tick later.
  ScheduleProblem problem = equal_stages(2, 1, 2, {1, 1, 1, 0});
  problem.stages[1].backward_weight = Duration{20};
  problem.stages[0].forward = Duration{3};
  problem.stages[0].backward_input = Duration{30};
  const SolvedSchedule solved = solve(problem);
  EXPECT_TRUE(solved.optimal);
  EXPECT_EQ(solved.timing.makespan,
            BruteForce(problem, ScheduleObjective::Makespan, true).shortest());
}

TEST(ExhaustiveSearch, SaysWhenItGaveUp) {
  const ScheduleProblem problem = equal_stages(2, 2, 6, {7, 13, 5, 3}, 6);
  const SolvedSchedule gave_up = solve(problem, {.exhaustive_nodes = 1});
  const SolvedSchedule proven = solve(problem);
  EXPECT_FALSE(gave_up.optimal);
  EXPECT_TRUE(proven.optimal);
  EXPECT_LT(gave_up.lower_bound, gave_up.timing.makespan);
  EXPECT_LE(gave_up.lower_bound, proven.timing.makespan);
}

}  // namespace
}  // namespace trainyard
