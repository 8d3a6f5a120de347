// How near the answer of a search is to the best there is, by the simulator: every plan of the
// space that fits is simulated and the fastest is held against the answer (bars: within 1 % on 64
// devices, 3 % on small jobs). And the rivals' own best plans on the standard jobs beside it, all
// priced by our simulator (bar: never faster).
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/simulator/simulator.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/memory/process_bytes.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "core/timeline/metrics.h"
#include "planners/plans/exact_price.h"
#include "planners/plans/plan_pricer.h"
#include "planners/plans/plan_search.h"

namespace trainyard {
namespace {

struct Job {
  const char *model, *cluster, *settings;
  double within = 1e9;  // simulates only plans whose bound is so many times the answer's step
};

Scenario scenario_of(const char* model, const char* cluster, std::string_view settings) {
  Scenario s{zoo_model(model), parse_cluster(cluster), {}};
  for (std::string_view rest = settings; !rest.empty();) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    apply_setting(s.plan, rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return s;
}

SimulatedPlan simulated(const Scenario& s) {
  const auto cost = physical_cost_model(s);
  const Workload w = prepare(s);
  const ProcessMemory process = cost->process_memory(s.cluster.device);
  const Program p = lower(
      w, {.verify = false, .times = phase_times(w, *cost), .framework = process_bytes(w, process)});
  const Timeline t = simulate(p, price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost));
  SimulatedPlan plan{step_window(t, p).length(), {}};
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d) {
    const MemoryWave wave = memory_wave(t, p, DeviceId{d});
    plan.memory = std::max(plan.memory, reserved_bytes(wave.samples[wave.peak].bytes, process));
  }
  const double slower = memory_slowdown(plan.memory, s.cluster.device.memory.value, process);
  plan.step = seconds(to_seconds(plan.step) * slower);
  return plan;
}

constexpr Job kJobs[] = {
    {"gpt3-175b", "a100-sxm-80:64", "global-batch=192"},
    {"gpt3-175b", "a100-sxm-80:64", "global-batch=1536", 1.12},
    {"gpt3-xl", "a100-sxm-40:8", "global-batch=32"},
    {"gpt3-2.7b", "a100-sxm-80:16", "global-batch=64"},
    {"llama-3-8b", "h100-sxm:16", "global-batch=32"},
    {"gpt3-13b", "h100-sxm:16", "global-batch=48"},
    {"mixtral-8x7b", "h100-sxm:16", "global-batch=16"},
};

void optimum(benchmark::State& state) {
  const Job& job = kJobs[state.range(0)];
  const PlanSpace space(scenario_of(job.model, job.cluster, job.settings), {}, {});
  const Bytes limit = space.base().cluster.device.memory.value;
  SearchResult found;
  std::size_t tried = 0;
  Duration best{};
  for (auto _ : state) {
    SearchOptions options;
    options.simulate = 8, options.simulator = simulated;
    found = search(space, options);
    const Duration answer = found.best.front().time();
    std::vector<PlanId> open;
    for (std::size_t i = 0; i < found.ids.size(); ++i)
      if (fits(found.plans[i].fate) &&
          to_seconds(found.plans[i].step) <= job.within * to_seconds(answer))
        open.push_back(found.ids[i]);
    std::vector<SimulatedPlan> all(open.size());
    tbb::parallel_for(std::size_t{0}, open.size(),
                      [&](std::size_t i) { all[i] = simulated(space.scenario(open[i])); });
    tried = open.size();
    best = answer;
    for (const SimulatedPlan& one : all)
      if (one.memory <= limit) best = std::min(best, one.step);
  }
  const Duration answer = found.best.front().time();
  state.counters["plans"] = static_cast<double>(found.tried);
  state.counters["simulated"] = static_cast<double>(tried);
  state.counters["answer_s"] = to_seconds(answer);
  state.counters["above_%"] = 100 * (to_seconds(answer) / to_seconds(best) - 1);
  state.SetLabel(fmt::format("{} {} {}", job.model, job.cluster, job.settings));
}
BENCHMARK(optimum)->DenseRange(0, 6)->Iterations(1)->Unit(benchmark::kSecond);

// The best plans that the rivals' own searches print, in our settings.
struct Rival {
  const char *name, *devices, *settings;
};
constexpr Rival kRivals[] = {
    {"Calculon #1", "64",
     "tp=4 pp=8 micro-batch=2 zero=1 flash-attention=off recompute=selective tensor-overlap=on"},
    {"Calculon #2", "64",
     "tp=4 pp=16 micro-batch=2 flash-attention=off recompute=selective tensor-overlap=on"},
    {"Calculon, fused attention", "64", "tp=4 pp=8 micro-batch=2 zero=1 tensor-overlap=on"},
    {"Calculon without overlap", "64",
     "tp=2 pp=16 micro-batch=1 flash-attention=off recompute=selective tensor-overlap=off"},
    {"llm-analysis", "64", "tp=4 pp=16 micro-batch=1 flash-attention=off recompute=selective"},
    {"Galvatron", "64", "tp=8 pp=4 micro-batch=1 zero=2"},
    {"Calculon #1", "512",
     "tp=4 pp=4 micro-batch=3 schedule=interleaved virtual-stages=12 zero=1 flash-attention=off "
     "recompute=selective tensor-overlap=on"},
    {"Calculon #2", "512",
     "tp=8 pp=2 micro-batch=6 schedule=interleaved virtual-stages=12 zero=1 flash-attention=off "
     "recompute=selective tensor-overlap=on"},
    {"Calculon, fused attention", "512",
     "tp=4 pp=4 micro-batch=3 schedule=interleaved virtual-stages=12 zero=1 tensor-overlap=on"},
    {"llm-analysis", "512",
     "tp=2 pp=32 micro-batch=1 zero=3 flash-attention=off recompute=selective"},
    {"Galvatron", "512", "tp=8 pp=4 micro-batch=1 zero=2"},
    {"Calculon #1", "4096",
     "tp=8 pp=4 micro-batch=3 schedule=interleaved virtual-stages=24 zero=1 flash-attention=off "
     "recompute=selective tensor-overlap=on"},
    {"Calculon, fused attention", "4096",
     "tp=8 pp=4 micro-batch=3 schedule=interleaved virtual-stages=24 zero=1 tensor-overlap=on"},
    {"llm-analysis", "4096",
     "tp=2 pp=32 micro-batch=1 zero=3 flash-attention=off recompute=selective"},
};

void rival(benchmark::State& state) {
  const Rival& other = kRivals[state.range(0)];
  const std::string cluster = std::string("a100-sxm-80:") + other.devices;
  const std::string theirs = std::string("global-batch=1536 ") + other.settings;
  // Both use the rival's overlap of tensor traffic; everything else is the search's choice.
  const bool overlapped = theirs.find("tensor-overlap=on") != std::string::npos;
  const Scenario base =
      scenario_of("gpt3-175b", cluster.c_str(),
                  overlapped ? "global-batch=1536 tensor-overlap=on" : "global-batch=1536");
  const std::vector<std::string> fixed{"tensor-overlap"};
  SearchResult found;
  SimulatedPlan plan;
  for (auto _ : state) {
    SearchOptions options;
    options.simulate = 8, options.simulator = simulated;
    found = search(PlanSpace(base, fixed, {}), options);
    plan = simulated(scenario_of("gpt3-175b", cluster.c_str(), theirs));
  }
  state.counters["ours_s"] = to_seconds(found.best.front().time());
  state.counters["theirs_s"] = to_seconds(plan.step);
  state.counters["theirs_over_ours"] =
      to_seconds(plan.step) / to_seconds(found.best.front().time());
  state.counters["theirs_GiB"] = static_cast<double>(plan.memory.value) / (1 << 30);
  state.SetLabel(fmt::format("{} on {}", other.name, other.devices));
}
BENCHMARK(rival)->DenseRange(0, 13)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace trainyard
