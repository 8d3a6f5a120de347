#include "app/workspace/comparison/simulated_rows.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <thread>

#include "backends/simulator/simulator.h"
#include "core/cost/physical.h"
#include "core/methods/catalogue.h"
#include "core/methods/parallel/waiting_devices.h"
#include "core/timeline/compare.h"
#include "core/timeline/metrics.h"
#include "core/validation/fit.h"

namespace trainyard {
namespace {

double moved(const SimulatedRow& row, const NamedPart& part) {
  return to_seconds(row.simulated_parts.*part.part - row.closed_parts.*part.part) / row.closed;
}

SimulatedRow simulated(const RowSet& set, std::size_t index, const Parameters& parameters) {
  const Workload& w = set.rows[index].workload;
  const auto cost = physical_cost_model(w.scenario, parameters);
  const StepEstimate closed = estimate_step(w, *cost);
  const Program program = lower(w, {.verify = false, .times = phase_times(w, *cost)});
  const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, *cost,
                                  expected_slowness(w.scenario));
  const Timeline timeline = simulate(program, prices, RunOptions{});
  std::vector<Breakdown> parts = breakdowns(timeline, program, prices.recompute_share);
  for (std::size_t d = 0; d < prices.slower.size(); ++d) part_slower(parts[d], prices.slower[d]);
  const Breakdown& critical = parts[critical_device(parts).value];
  return {index, to_seconds(closed.step), to_seconds(critical.sum()), closed.breakdown, critical};
}

std::string name_of(const PreparedRow& row) {
  const Plan& plan = row.workload.scenario.plan;
  const std::string_view schedule = plan.mesh.pp == 1 ? "no pipeline" : schedule_of(plan).name;
  const std::string& framework = plan.software.framework;
  return std::string(schedule) + ", " + (framework.empty() ? "typical" : framework);
}

}  // namespace

std::vector<SimulatedRow> simulate_rows(const RowSet& set, const Parameters& parameters,
                                        int threads) {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < set.rows.size(); ++i)
    if (set.rows[i].metric == RowMetric::StepTime) which.push_back(i);
  std::vector<SimulatedRow> rows(which.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failed;
  const auto run = [&] {
    for (std::size_t i = next++; i < which.size() && !stop; i = next++) try {
        rows[i] = simulated(set, which[i], parameters);
      } catch (...) {
        if (!stop.exchange(true)) failed = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(run);
    run();
  }
  if (failed) std::rethrow_exception(failed);
  return rows;
}

Cause largest_cause(const SimulatedRow& row) {
  Cause largest;
  for (const NamedPart& part : breakdown_parts())
    if (std::abs(moved(row, part)) > std::abs(largest.share))
      largest = {part.name, moved(row, part)};
  return largest;
}

std::vector<DifferenceScore> difference_scores(const RowSet& set,
                                               const std::vector<SimulatedRow>& rows) {
  std::map<std::string, std::vector<const SimulatedRow*>> sets;
  for (const SimulatedRow& row : rows) sets[name_of(set.rows[row.row])].push_back(&row);
  std::vector<DifferenceScore> scores;
  for (const auto& [name, members] : sets) {
    DifferenceScore score;
    score.name = name;
    score.rows = static_cast<int>(members.size());
    std::vector<double> logs;
    std::vector<double> causes(breakdown_parts().size());
    for (const SimulatedRow* row : members) {
      logs.push_back(std::log1p(row->difference()));
      score.max = std::max(score.max, std::abs(row->difference()));
      score.bias += row->difference() / static_cast<double>(members.size());
      for (std::size_t p = 0; p < causes.size(); ++p)
        causes[p] += moved(*row, breakdown_parts()[p]) / static_cast<double>(members.size());
    }
    const std::vector<double> weights(logs.size(), 1.0);
    score.median = weighted_quantile(logs, weights, 0.5);
    score.p90 = weighted_quantile(logs, weights, 0.9);
    for (std::size_t p = 0; p < causes.size(); ++p)
      if (std::abs(causes[p]) > std::abs(score.cause.share))
        score.cause = {breakdown_parts()[p].name, causes[p]};
    scores.push_back(score);
  }
  return scores;
}

}  // namespace trainyard
