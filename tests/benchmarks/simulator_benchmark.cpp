// How fast a scenario is prepared, lowered, verified, priced, simulated and estimated. Items are
// instructions; the largest case is 1 T parameters on 3,072 devices (tp 8, pp 64, 512
// microbatches).
#include <benchmark/benchmark.h>

#include "backends/simulator/simulator.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

struct Case {
  const char *model, *cluster, *settings;
};
constexpr Case kCases[] = {
    {"llama-3-70b", "h100-sxm:64", "tp=4 pp=8 global-batch=32 seq=8192"},
    {"llama-3-70b", "h100-sxm:1024", "tp=8 pp=4 global-batch=1024 seq=8192"},
    {"megatron-1008b", "a100-sxm-80:3072", "tp=8 pp=64 global-batch=3072"},
};

Scenario scenario(const Case& c) {
  Scenario s{zoo_model(c.model), parse_cluster(c.cluster), {}};
  for (std::string_view rest = c.settings; !rest.empty();) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    apply_setting(s.plan, rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return s;
}

void label(benchmark::State& state, const Case& c, std::size_t instructions) {
  state.SetLabel(std::string(c.model) + " " + c.cluster);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * instructions));
}

// The bar: under 100 ms for the last case.
void LowerAndSimulate(benchmark::State& state) {
  const Case& c = kCases[state.range(0)];
  const Scenario s = scenario(c);
  const auto cost = roofline_cost_model();
  LowerOptions options;
  options.verify = state.range(1) != 0;
  std::size_t instructions = 0;
  for (auto _ : state) {
    const Workload w = prepare(s);
    const Program p = lower(w, options);
    const Timeline t = simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost));
    instructions = p.instructions.size();
    benchmark::DoNotOptimize(t.spans.data());
  }
  label(state, c, instructions);
}
BENCHMARK(LowerAndSimulate)->ArgsProduct({{0, 1, 2}, {0, 1}})->Unit(benchmark::kMillisecond);

void Simulate(benchmark::State& state) {
  const Case& c = kCases[state.range(0)];
  const Workload w = prepare(scenario(c));
  const Program p = lower(w);
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(p, prices).spans.data());
  label(state, c, p.instructions.size());
}
BENCHMARK(Simulate)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void Prepare(benchmark::State& state) {
  const Scenario s = scenario(kCases[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(prepare(s).bodies.data());
}
BENCHMARK(Prepare)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond);

void EstimateStep(benchmark::State& state) {
  const Workload w = prepare(scenario(kCases[state.range(0)]));
  const auto cost = roofline_cost_model();
  for (auto _ : state) benchmark::DoNotOptimize(estimate_step(w, *cost).step);
}
BENCHMARK(EstimateStep)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trainyard

BENCHMARK_MAIN();
