// Finds an order of forward, input-gradient and weight-gradient passes for a pipeline with given
// times and memory limits. The result is never worse than any schedule of the catalogue that keeps
// the limits, and is proven optimal if the case is small.
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
  // Says whether optimality is proven, by search or because the bound is reached; for Span, among
  // orders in which microbatches do not overtake one another.
  bool optimal = false;
  std::string found_by;    // "exhaustive search", "zb-h1", "list scheduling, lag 2" ...
  std::int64_t tried = 0;  // orders timed, or nodes visited
};

struct SolveOptions {
  ScheduleObjective objective = ScheduleObjective::Makespan;
  std::int64_t exhaustive_nodes = 50'000;  // nodes of branch and bound before it gives up the proof
  Duration good_enough{};                  // value of the objective at which the search ends
  std::stop_token stop = {};
};
/// Throws Error{InvalidInput} if a limit cannot hold even one microbatch, naming the device, what
/// it needs and what it has; throws Error{Cancelled} when stopped.
SolvedSchedule solve(const ScheduleProblem&, const SolveOptions& = {});

/// One point of the trade-off between memory and bubble.
struct TradePoint {
  Bytes limit{};  // the same for every device
  SolvedSchedule solved;
};
/// Solves for at most `points` ascending limits, from the least feasible one to the one beyond
/// which nothing is gained. Makespans never rise with the limit.
std::vector<TradePoint> sweep_limits(const ScheduleProblem&, int points, const SolveOptions& = {});

}  // namespace trainyard
