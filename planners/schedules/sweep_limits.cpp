#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "planners/schedules/pipeline.h"
#include "planners/schedules/schedule_solver.h"

namespace trainyard {
namespace {

Duration objective_of(const SolvedSchedule& s, ScheduleObjective objective) {
  return objective == ScheduleObjective::Makespan ? s.timing.makespan : s.timing.longest_span;
}

// The step in which a device's held memory can change: a limit between two multiples has the effect
// of the lower one.
std::int64_t grain(const ScheduleProblem& problem) {
  std::int64_t step = 0;
  for (const StageCost& c : problem.stages)
    step = std::gcd(step, std::gcd(c.until_input.value, c.until_weight.value));
  return std::max<std::int64_t>(step, 1);
}

std::vector<std::int64_t> limits_between(std::int64_t least, std::int64_t most, std::int64_t step,
                                         int points) {
  const std::int64_t steps = (most - least) / step;
  const std::int64_t count = std::min<std::int64_t>(points, steps + 1);
  std::vector<std::int64_t> limits;
  for (std::int64_t i = 0; i < count; ++i) {
    // Rounded down, without a product that could overflow; the last limit is `most`.
    const std::int64_t gaps = std::max<std::int64_t>(count - 1, 1);
    limits.push_back(least + (steps / gaps * i + steps % gaps * i / gaps) * step);
  }
  return limits;
}

}  // namespace

std::vector<TradePoint> sweep_limits(const ScheduleProblem& problem, int points,
                                     const SolveOptions& options) {
  if (points < 1)
    throw Error(Error::Kind::InvalidInput,
                "expected at least 1 point, found " + std::to_string(points), {"points"});
  ScheduleProblem limited = problem;
  limited.limits.clear();
  const Pipeline p = make_pipeline(limited);
  const SolvedSchedule free = solve(limited, options);
  std::int64_t least = 0, most = 0;
  for (int d = 0; d < p.devices; ++d) {
    std::int64_t one = 0;
    for (int c = 0; c < p.chunks; ++c) one += p.held[at(p.stage_at(d, c))];
    least = std::max(least, one);
  }
  for (const Bytes peak : free.timing.peaks) most = std::max(most, peak.value);

  std::vector<TradePoint> found;
  for (const std::int64_t limit : limits_between(least, most, grain(problem), points)) {
    limited.limits.assign(at(p.devices), Bytes{limit});
    TradePoint point{{limit}, solve(limited, options)};
    // An order that keeps a lower limit also keeps this one; the order found without a limit
    // qualifies once it fits.
    const auto take = [&](const SolvedSchedule& other) {
      if (objective_of(other, options.objective) >= objective_of(point.solved, options.objective))
        return;
      const Duration bound = point.solved.lower_bound;
      point.solved = other;
      point.solved.lower_bound = bound;
      point.solved.optimal = objective_of(other, options.objective) == bound;
    };
    if (!found.empty()) take(found.back().solved);
    if (limit >= most) take(free);
    found.push_back(std::move(point));
  }
  const Duration best = objective_of(found.back().solved, options.objective);
  while (found.size() > 1 &&
         objective_of(found[found.size() - 2].solved, options.objective) == best)
    found.pop_back();
  return found;
}

}  // namespace trainyard
