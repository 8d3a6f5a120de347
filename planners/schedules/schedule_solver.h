// Finds an order of forward, input-gradient and weight-gradient passes for a pipeline with given
// times and a memory limit: never worse than any schedule of the catalogue that keeps the limit,
// proven optimal where the case is small.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/program/order.h"
#include "planners/schedules/named_schedules.h"
#include "planners/schedules/schedule_problem.h"
#include "planners/schedules/time_order.h"

namespace trainyard {

struct SolvedSchedule {
  Order order;
  OrderTiming timing;
  Duration lower_bound{};  // no order within the limits is shorter
  bool optimal = false;    // proven: by search, or because the bound is reached; of Span, among
                           // orders in which microbatches do not overtake one another
  std::string found_by;    // "exhaustive search", "zb-h1", "list scheduling, lag 2" ...
  std::int64_t tried = 0;  // orders timed, or nodes visited
};

struct SolveOptions {
  ScheduleObjective objective = ScheduleObjective::Makespan;
  std::int64_t exhaustive_nodes = 50'000;  // of branch and bound before it gives up the proof
  Duration good_enough{};                  // of the objective: stops looking once it is reached
  std::stop_token stop = {};
};
/// Throws Error{InvalidInput} where a limit does not hold even one microbatch, naming the device,
/// what it needs and what it has; Error{Cancelled} when stopped.
SolvedSchedule solve(const ScheduleProblem&, const SolveOptions& = {});

/// One point of the trade of memory against bubble.
struct TradePoint {
  Bytes limit{};  // of every device
  SolvedSchedule solved;
};
/// From the least limit that is feasible to the one beyond which nothing is gained, at most
/// `points` of them, rising; makespans never rise.
std::vector<TradePoint> sweep_limits(const ScheduleProblem&, int points, const SolveOptions& = {});

}  // namespace trainyard
