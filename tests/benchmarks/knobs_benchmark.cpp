// Measures the delays that a user sees: every knob of a plan turned, a boundary found, two plans
// compared for flips.
#include <benchmark/benchmark.h>

#include "core/cost/physical.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "planners/sensitivity/boundary.h"
#include "planners/sensitivity/flip.h"
#include "planners/sensitivity/sensitivity.h"

namespace trainyard {
namespace {

CostOf costs() {
  return [](const Scenario& s) { return std::shared_ptr<const CostModel>(physical_cost_model(s)); };
}

Scenario plan_of_1024(const char* words) {
  Scenario scenario{zoo_model("llama-3-70b"), parse_cluster("h100-sxm:1024"), {}};
  apply_each(scenario.plan, "global-batch=1024 seq=8192");
  apply_each(scenario.plan, words);
  return scenario;
}

void all_strips(benchmark::State& state) {
  const Scenario scenario = plan_of_1024("tp=8 pp=4 zero=1");
  std::int64_t plans = 0;
  for (auto _ : state) plans += sensitivity(scenario, costs()).priced;
  state.counters["plans/s"] =
      benchmark::Counter(static_cast<double>(plans), benchmark::Counter::kIsRate);
}
BENCHMARK(all_strips)->Unit(benchmark::kMillisecond)->UseRealTime();

void one_strip(benchmark::State& state) {
  const Scenario scenario = plan_of_1024("tp=8 pp=4 zero=1");
  for (auto _ : state)
    benchmark::DoNotOptimize(
        sensitivity(scenario, costs(), {.keys = {"micro-batch"}, .reach = 12}).priced);
}
BENCHMARK(one_strip)->Unit(benchmark::kMillisecond)->UseRealTime();

void longest_sequence(benchmark::State& state) {
  const Scenario scenario = plan_of_1024("tp=8 pp=4 zero=1");
  for (auto _ : state) benchmark::DoNotOptimize(largest(scenario, "seq", costs()).tried);
}
BENCHMARK(longest_sequence)->Unit(benchmark::kMillisecond)->UseRealTime();

void fewest(benchmark::State& state) {
  const Scenario scenario = plan_of_1024("tp=8 pp=4 zero=1");
  for (auto _ : state) benchmark::DoNotOptimize(fewest_devices(scenario, costs()).tried);
}
BENCHMARK(fewest)->Unit(benchmark::kMillisecond)->UseRealTime();

void flip_two_plans(benchmark::State& state) {
  const Scenario a = plan_of_1024("tp=8 pp=4 zero=1"), b = plan_of_1024("tp=4 pp=8 zero=1");
  for (auto _ : state) benchmark::DoNotOptimize(flip(a, b, costs()).points.size());
}
BENCHMARK(flip_two_plans)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace trainyard
