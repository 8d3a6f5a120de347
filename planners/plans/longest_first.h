// Jobs of unlike lengths, such as the simulations of a sweep, are spread over workers by what each
// is predicted to take, the longest first: short ones then fill what is left at the end, where one
// long job that began last would keep all others waiting. Only the order of the predictions matters
// where a worker takes the next job whenever it is free.
//
//   in the order given   ▇▇ ▇▇ ▇▇ ▇▇ ▇▇▇▇▇▇▇▇▇▇▇▇      longest first   ▇▇▇▇▇▇▇▇▇▇▇▇
//                        ▇▇ ▇▇ ▇▇ ▇▇                                  ▇▇ ▇▇ ▇▇ ▇▇ ▇▇ ▇▇
//
// Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM Journal on Applied Mathematics 1969:
// at most 4/3 - 1 / (3 workers) of the shortest time, where predictions are right. Zhao et al.,
// "SUOD", MLSys 2021, predicts the costs of unlike jobs so; it cuts the order given into stretches
// of equal cost, which takes longer.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

/// Returns the indices of the jobs from the most expensive on; equal ones in the order given.
std::vector<std::size_t> longest_first(std::span<const double> costs);

/// Returns the worker of each job, below `workers` >= 1: from the longest job on, each goes to the
/// worker that has the least so far, the first of equals. For workers that cannot take the next job
/// when they are free, such as processes.
std::vector<std::size_t> spread(std::span<const double> costs, std::size_t workers);

/// Calls job(index) once for each, on so many threads (0 = one per core), each of which takes the
/// next of longest_first() when it is free. Blocks until all are done. An exception of a job is
/// thrown here, and jobs that have not begun are then not called.
void run_longest_first(std::span<const double> costs, int threads,
                       const std::function<void(std::size_t)>& job);

/// Returns how long a simulation of the plan takes beside those of others, without unit: the passes
/// of its program, of all microbatches through all stages.
double simulation_cost(const Plan&, const Cluster&);

}  // namespace trainyard
