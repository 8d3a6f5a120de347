// Schedules compared at equal memory: for each, the quickest variant of one plan that keeps a
// budget, over a few settings that trade memory for time.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/result/experiment.h"

namespace trainyard {

struct ComparisonRequest {
  Bytes budget{};                           // of each device; 0 = what the cluster's devices have
  std::vector<std::string> schedules = {};  // names of methods(); empty = all
  std::stop_token stop = {};
};

/// One schedule. Its experiment is the quickest variant that fits, else the one that is least over;
/// null where no variant is legal.
struct ComparedSchedule {
  std::string name;
  bool own_order = false;  // the order that the plan has instead of the schedule's, as it is
  std::string changed;     // settings that differ from the plan: "virtual-stages=2
                           // recompute=selective"
  std::string why_not;     // empty where it fits; else how much is missing, or why it is illegal
  bool legal = false, fits = false;
  bool asynchronous = false;
  ExperimentPtr experiment;
  Duration step{};
  double bubble = 0;      // share of device time
  Bytes peak{};           // of the worst device
  std::string tokens;     // asynchronous: "1.13 x tokens" to the same loss; never empty then
  std::string staleness;  // the same with what it comes from
  int tried = 0;          // variants simulated
};

struct ScheduleComparison {
  Bytes budget{};
  std::int64_t global_batch = 0, sequence = 0;  // the same in all
  std::vector<ComparedSchedule> schedules;      // an own order first, then as asked for
};

/// The knobs, for help and tables: "virtual stages 1, 2 and the plan's; micro-batch half, same and
/// double; recompute none, selective, full".
std::string_view comparison_knobs();

/// Global batch and sequence are the plan's; where it has an order of its own, that is compared
/// too, with none of its settings changed: they would make it another. Throws Error{InvalidInput}:
/// an unknown schedule (nearest), a budget that is not positive, a scenario whose plan cannot be
/// completed; Error{Cancelled} when stopped.
ScheduleComparison compare_schedules(const Scenario&, const ComparisonRequest& = {});

}  // namespace trainyard
