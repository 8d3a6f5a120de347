// What one more answer costs once model, cluster and plan are loaded (prepared): the closed form of
// a plan, cost model new each time as a fit has it, and order grain of 64 devices under 1F1B from
// lowering to the step window. The bars: 5 us for the one, 2 ms for the other. Beside them, the
// time in which this machine copies the bytes of that program.
#include <benchmark/benchmark.h>

#include <cstring>

#include "backends/simulator/simulator.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

struct Case {
  const char *model, *cluster, *settings;
};
constexpr Case kCases[] = {
    {"gpt3-175b", "a100-sxm-80:64", "tp=8 pp=8 global-batch=64"},
    {"llama-3-70b", "h100-sxm:64", "tp=4 pp=8 global-batch=64"},
    {"llama-3-70b", "h100-sxm:64", "tp=8 pp=4 global-batch=256"},
    {"llama-3-8b", "h100-sxm:64", "pp=8 global-batch=256"},
    {"llama-3-8b", "h100-sxm:64", "zero=3 global-batch=256"},
    {"gpt3-175b", "a100-sxm-80:64", "pp=32 dp=2 global-batch=128"},
    {"megatron-1008b", "a100-sxm-80:64", "pp=64 global-batch=64"},
};

Workload loaded(const Case& c) {
  Scenario s{zoo_model(c.model), parse_cluster(c.cluster), {}};
  for (std::string_view rest = c.settings; !rest.empty();) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    apply_setting(s.plan, rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return prepare(s);
}

void label(benchmark::State& state, const Case& c) {
  state.SetLabel(std::string(c.model) + " " + c.cluster + " " + c.settings);
}

// The comparable tool in the study scores 2,900 plans a second.
void Estimate(benchmark::State& state) {
  const Case& c = kCases[state.range(0)];
  const Workload w = loaded(c);
  const auto cost = state.range(1) != 0 ? physical_cost_model(w.scenario) : roofline_cost_model();
  for (auto _ : state) benchmark::DoNotOptimize(estimate_step(w, *cost).step);
  state.SetItemsProcessed(state.iterations());
  label(state, c);
}
BENCHMARK(Estimate)->ArgsProduct({{0, 1, 2, 3, 4, 5, 6}, {0, 1}})->Unit(benchmark::kMicrosecond);

void Simulate(benchmark::State& state) {
  const Case& c = kCases[state.range(0)];
  const Workload w = loaded(c);
  const auto cost = physical_cost_model(w.scenario);
  std::size_t instructions = 0;
  for (auto _ : state) {
    const Program p = lower(w, {.verify = false});
    const Timeline t = simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost));
    benchmark::DoNotOptimize(step_window(t, p).length());
    instructions = p.instructions.size();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(instructions));
  label(state, c);
}
BENCHMARK(Simulate)->DenseRange(0, 6)->Unit(benchmark::kMicrosecond);

// The same with the memory results of `simulate`: a wave for each device.
void SimulateWithMemory(benchmark::State& state) {
  const Case& c = kCases[state.range(0)];
  const Workload w = loaded(c);
  const auto cost = physical_cost_model(w.scenario);
  for (auto _ : state) {
    const Program p = lower(w, {.verify = false});
    const Timeline t = simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost));
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d)
      benchmark::DoNotOptimize(memory_wave(t, p, DeviceId{d}).samples.data());
  }
  label(state, c);
}
BENCHMARK(SimulateWithMemory)->DenseRange(0, 6)->Unit(benchmark::kMicrosecond);

void CopyProgram(benchmark::State& state) {
  const Case& c = kCases[state.range(0)];
  const Program p = lower(loaded(c));
  std::vector<Instruction> copy(p.instructions.size());
  for (auto _ : state) {
    std::memcpy(static_cast<void*>(copy.data()), p.instructions.data(),
                copy.size() * sizeof(Instruction));
    benchmark::ClobberMemory();
  }
  label(state, c);
}
BENCHMARK(CopyProgram)->DenseRange(0, 6)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trainyard

BENCHMARK_MAIN();
