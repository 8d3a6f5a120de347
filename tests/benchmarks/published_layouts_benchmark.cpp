// Layouts that a search by measurement found (nanotron's best of every model and size): how far
// above the best layout that predictions find, and how fast that search is.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/validation/rows/row_scenario.h"
#include "core/validation/shipped.h"

namespace trainyard {
namespace {

const std::vector<PreparedRow>& searched_rows() {
  static const std::vector<PreparedRow> rows = [] {
    std::vector<PreparedRow> found;
    for (PreparedRow& row : prepare_rows(published_rows()).rows)
      if (row.row.framework.starts_with("nanotron") && row.metric == RowMetric::StepTime)
        found.push_back(std::move(row));
    return found;
  }();
  return rows;
}

struct Layout {
  int tp = 1, pp = 1, zero = 0;
  std::int64_t micro = 1;
};

// The step of a layout; empty if it is not a legal plan or does not fit.
std::optional<double> step_of(const Scenario& published, const Layout& layout) {
  Scenario tried = published;
  Plan& plan = tried.plan;
  plan.mesh.tp = layout.tp, plan.mesh.pp = layout.pp;
  plan.mesh.dp = static_cast<int>(tried.cluster.count / (layout.tp * layout.pp));
  plan.virtual_stages = 1, plan.split = {}, plan.batch.micro = layout.micro;
  try {
    apply_setting(plan, "zero", std::to_string(layout.zero));
    const StepEstimate step = estimate_step(prepare(tried), *physical_cost_model(tried));
    const Bytes most = *std::max_element(step.reserved.begin(), step.reserved.end());
    if (most > tried.cluster.device.memory.value) return {};
    return to_seconds(step.step);
  } catch (const Error&) {
    return {};
  }
}

void published_layout(benchmark::State& state) {
  const PreparedRow& row = searched_rows()[static_cast<std::size_t>(state.range(0))];
  const Scenario& scenario = row.workload.scenario;
  const auto devices = static_cast<int>(scenario.cluster.count);
  double best = 0;
  std::int64_t tried = 0;
  std::string name;
  for (auto _ : state)
    for (int tp = 1; tp <= 16; tp *= 2)
      for (int pp = 1; pp * tp <= devices && pp <= 16; pp *= 2)
        for (std::int64_t micro = 1; micro <= 8; micro *= 2)
          for (const int zero : {0, 1}) {
            ++tried;
            const std::optional<double> step = step_of(scenario, {tp, pp, zero, micro});
            if (!step || (best > 0 && *step >= best)) continue;
            best = *step;
            name = fmt::format("dp {} tp {} pp {} micro {} zero {}", devices / (tp * pp), tp, pp,
                               micro, zero);
          }
  state.SetLabel(row.row.id + ": best " + name);
  state.SetItemsProcessed(tried);
  if (best > 0)
    state.counters["published_above_best_percent"] = 100 * (predict(row, Parameters{}) / best - 1);
}
BENCHMARK(published_layout)
    ->Apply([](benchmark::internal::Benchmark* b) {
      b->DenseRange(0, static_cast<int>(searched_rows().size()) - 1);
    })
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainyard
