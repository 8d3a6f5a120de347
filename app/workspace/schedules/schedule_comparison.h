// Compares schedules at equal memory: for each schedule, finds the fastest variant of one plan that
// keeps a budget, over a few settings that trade memory for time.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/result/experiment.h"

namespace trainyard {

struct ComparisonRequest {
  Bytes budget{};  // of each device; 0 = the memory of the cluster's devices
  std::vector<std::string> schedules = {};  // names of methods(); empty = all
  std::stop_token stop = {};
};

/// One schedule. Its experiment is the fastest variant that fits, else the one that exceeds memory
/// least; null if no variant is legal.
struct ComparedSchedule {
  std::string name;
  bool own_order = false;  // whether this is the plan's own order instead of a schedule's
  // The settings that differ from the plan: "virtual-stages=2 recompute=selective".
  std::string changed;
  // Empty if it fits; else how much memory is missing, or why it is illegal.
  std::string why_not;
  bool legal = false, fits = false;
  bool asynchronous = false;
  ExperimentPtr experiment;
  Duration step{};
  double bubble = 0;  // share of device time
  Bytes peak{};       // of the worst device
  // Asynchronous: the tokens to the same loss, such as "1.13 times the tokens"; never empty then.
  std::string tokens;
  std::string staleness;  // the same, with its cause
  int tried = 0;          // number of variants simulated
};

struct ScheduleComparison {
  Bytes budget{};
  std::int64_t global_batch = 0, sequence = 0;  // the same for all schedules
  std::vector<ComparedSchedule> schedules;      // the plan's own order first, then as requested
};

/// Describes the knobs, for help and tables: "virtual stages 1, 2 and the plan's; micro-batch half,
/// same and double; recompute none, selective, full".
std::string_view comparison_knobs();

/// Global batch and sequence are those of the plan. If the plan has an order of its own, that is
/// compared too, without changing settings, which would make it another order. Throws
/// Error{InvalidInput} for an unknown schedule (naming the nearest), a budget that is not positive,
/// or a plan that cannot be completed; Error{Cancelled} when stopped.
ScheduleComparison compare_schedules(const Scenario&, const ComparisonRequest& = {});

}  // namespace trainyard
