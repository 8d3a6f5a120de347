#include "planners/plans/longest_first.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "planners/plans/threads.h"

namespace trainyard {

std::vector<std::size_t> longest_first(std::span<const double> costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  return order;
}

std::vector<std::size_t> spread(std::span<const double> costs, std::size_t workers) {
  std::vector<double> taken(workers);
  std::vector<std::size_t> worker(costs.size());
  for (const std::size_t job : longest_first(costs)) {
    const auto least = std::min_element(taken.begin(), taken.end());
    *least += costs[job];
    worker[job] = static_cast<std::size_t>(least - taken.begin());
  }
  return worker;
}

void run_longest_first(std::span<const double> costs, int threads,
                       const std::function<void(std::size_t)>& job) {
  const std::vector<std::size_t> order = longest_first(costs);
  std::atomic<std::size_t> next = 0;
  tbb::task_arena arena(threads_at_once(threads));
  arena.execute([&] {
    tbb::parallel_for(
        0, arena.max_concurrency(), 1,
        [&](int) {
          for (std::size_t i; (i = next++) < order.size();) {
            try {
              job(order[i]);
            } catch (...) {
              next = order.size();
              throw;
            }
          }
        },
        tbb::simple_partitioner());
  });
}

double simulation_cost(const Plan& plan, const Cluster& cluster) {
  const double dp = data_parallel(plan, cluster);
  const double passes = plan.batch.global > 0 ? static_cast<double>(plan.batch.global) /
                                                    (static_cast<double>(plan.batch.micro) * dp)
                                              : plan.mesh.pp;
  return passes * plan.mesh.pp * plan.virtual_stages;
}

}  // namespace trainyard
