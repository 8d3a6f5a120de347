// Times a step whose transfers share links, beside the same step with each priced by itself: 1,024
// devices have to take less than 2 s, and 16,384 less than 60 s, also on hashed paths that they
// share with other jobs.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "app/workspace/scenario/network_step.h"
#include "app/workspace/scenario/workspace.h"

namespace trainyard {
namespace {

void over_links(benchmark::State& state, const std::string& cluster,
                std::vector<std::string> settings, NetworkRouting routing, double tenants = 0) {
  const Scenario scenario = open({"llama-3-70b", cluster, "", std::move(settings)});
  const ExperimentPtr alone = simulate(scenario, {.fixes = false});
  NetworkUse use;
  for (auto _ : state) use = over_network(*alone, {.routing = routing, .tenants = tenants}).use;
  state.counters["flows"] = static_cast<double>(use.flows);
  state.counters["kinds"] = static_cast<double>(use.kinds);
  state.counters["links"] = static_cast<double>(use.links);
  state.counters["instructions"] = static_cast<double>(alone->program.instructions.size());
}

const std::vector<std::string> kThousand = {"tp=8", "pp=8", "global-batch=1024", "seq=8192"};
const std::vector<std::string> kSixteenThousand = {"tp=8", "pp=16", "global-batch=2048",
                                                   "seq=8192"};

void thousand_devices(benchmark::State& state) {
  over_links(state, "h100-sxm:1024", kThousand, NetworkRouting::Spread);
}
void thousand_devices_on_hashed_paths(benchmark::State& state) {
  over_links(state, "h100-sxm:1024", kThousand, NetworkRouting::Hashed);
}
void sixteen_thousand_devices(benchmark::State& state) {
  over_links(state, "h100-sxm:16384", kSixteenThousand, NetworkRouting::Spread);
}
void sixteen_thousand_devices_on_hashed_paths(benchmark::State& state) {
  over_links(state, "h100-sxm:16384", kSixteenThousand, NetworkRouting::Hashed);
}
void sixteen_thousand_devices_on_hashed_paths_beside_others(benchmark::State& state) {
  over_links(state, "h100-sxm:16384", kSixteenThousand, NetworkRouting::Hashed, 0.2);
}
BENCHMARK(thousand_devices)->Unit(benchmark::kMillisecond);
BENCHMARK(thousand_devices_on_hashed_paths)->Unit(benchmark::kMillisecond);
BENCHMARK(sixteen_thousand_devices)->Unit(benchmark::kMillisecond);
BENCHMARK(sixteen_thousand_devices_on_hashed_paths)->Unit(benchmark::kMillisecond);
BENCHMARK(sixteen_thousand_devices_on_hashed_paths_beside_others)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainyard
