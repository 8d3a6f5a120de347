// The schedule solver on every case of the zero-bubble papers' authors' own (see
// zero_bubble_rows.h): CPU time until it has an order no longer than theirs, and until it is
// content. faster = their seconds over ours, shorter = their objective over ours.
#include <benchmark/benchmark.h>

#include <ctime>

#include "planners/schedules/schedule_solver.h"
#include "tests/planners/problems.h"
#include "tests/planners/zero_bubble_rows.h"

namespace trainyard {
namespace {

void solve_row(benchmark::State& state, const ZeroBubbleRow& row, ScheduleObjective objective,
               bool until_theirs) {
  ScheduleProblem problem =
      equal_stages(row.devices, row.chunks, row.microbatches, {10, 10, 10, 1});
  problem.limits.assign(static_cast<std::size_t>(row.devices), Bytes{row.limit});
  problem.split_backward = row.split;
  const bool makespan = objective == ScheduleObjective::Makespan;
  const std::int64_t theirs = makespan ? row.makespan : row.longest_span;
  SolveOptions options{.objective = objective};
  if (until_theirs) options.good_enough = Duration{theirs};
  std::int64_t ours = 0, bound = 0, solved_times = 0;
  const std::clock_t start = std::clock();
  for (auto _ : state) {
    const SolvedSchedule solved = solve(problem, options);
    ours = (makespan ? solved.timing.makespan : solved.timing.longest_span).count();
    bound = solved.lower_bound.count();
    ++solved_times;
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC /
                         static_cast<double>(std::max<std::int64_t>(solved_times, 1));
  state.counters["faster"] = row.seconds / seconds;
  state.counters["shorter"] = static_cast<double>(theirs) / static_cast<double>(ours);
  state.counters["ours"] = static_cast<double>(ours);
  state.counters["theirs"] = static_cast<double>(theirs);
  state.counters["bound"] = static_cast<double>(bound);
}

// p=32, m=256 with times that no closed form knows.
void solve_uneven(benchmark::State& state) {
  const Random random(1);
  ScheduleProblem problem = equal_stages(32, 1, 256, {10, 10, 10, 1}, 40);
  for (std::size_t s = 0; s < problem.stages.size(); ++s) {
    problem.stages[s].forward = Duration{random.between(3 * s, 80, 120)};
    problem.stages[s].backward_input = Duration{random.between(3 * s + 1, 80, 140)};
    problem.stages[s].backward_weight = Duration{random.between(3 * s + 2, 60, 100)};
  }
  for (auto _ : state) {
    const SolvedSchedule solved = solve(problem);
    state.counters["over_bound"] =
        to_seconds(solved.timing.makespan) / to_seconds(solved.lower_bound) - 1;
  }
}
BENCHMARK(solve_uneven)->Unit(benchmark::kMillisecond);

[[maybe_unused]] const int kRegistered = [] {
  for (const bool until_theirs : {true, false})
    for (const ZeroBubbleRow& row : kZeroBubbleRows)
      for (const auto objective : {ScheduleObjective::Makespan, ScheduleObjective::Span}) {
        const std::string name = std::string(until_theirs ? "until_theirs/" : "content/") +
                                 row.name + "/p" + std::to_string(row.devices) + "/m" +
                                 std::to_string(row.microbatches) +
                                 (objective == ScheduleObjective::Makespan ? "/makespan" : "/span");
        benchmark::RegisterBenchmark(name.c_str(), solve_row, row, objective, until_theirs)
            ->Unit(benchmark::kMillisecond);
      }
  return 0;
}();

}  // namespace
}  // namespace trainyard
