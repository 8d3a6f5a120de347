#include "app/workspace/scenario/network_step.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/workspace/scenario/prices.h"
#include "backends/simulator/simulator.h"
#include "core/base/error.h"
#include "core/cost/links_left_out.h"
#include "core/result/verdict.h"
#include "core/timeline/metrics.h"
#include "core/validation/bands.h"

namespace trainyard {
namespace {

// The links of a network have what a price of each transfer by itself leaves out of them.
void state_left_out(std::vector<std::string>& sentences) {
  std::erase(sentences, kUnevenMeshLeftOut);
  std::replace(sentences.begin(), sentences.end(), std::string(kLeafOfNodeLeftOut),
               std::string("leaf switches below which several nodes hang: each node is a leaf"));
  sentences.emplace_back(
      "what a collective hides beside its own product, which loads no link here");
}

}  // namespace

void expect_switches_that_add_up(const Cluster& cluster, const NetworkOptions& options) {
  const std::vector<Level>& levels = cluster.levels;
  if (std::any_of(levels.begin() + 1, levels.end(), [](const Level& l) { return l.reduces; }))
    return;
  const NetworkOptions usual;
  for (const auto& [given, flag] : {std::pair{options.slots != usual.slots, "--slots"},
                                    {options.trees != usual.trees, "--trees"}})
    if (given)
      throw Error(Error::Kind::InvalidInput,
                  "expected a cluster whose switches between nodes add up, as \"reduces\": true of "
                  "a level of a trainyard/cluster file says, found none",
                  {flag});
}

NetworkStep over_network(const Experiment& alone, const NetworkOptions& options,
                         const CostModel* given, std::stop_token stop) {
  const Workload& workload = alone.workload;
  const std::unique_ptr<CostModel> own = given == nullptr ? cost_model(workload.scenario) : nullptr;
  const CostModel& cost = own ? *own : *given;
  auto experiment = std::make_shared<Experiment>(alone);
  const NetworkTraffic traffic(alone.program, alone.prices, workload.scenario.plan.mesh,
                               workload.scenario.cluster, cost, options);
  NetworkRun run = simulate(alone.program, alone.prices, traffic, {.stop = stop, .progress = {}});
  experiment->timeline = std::move(run.timeline);
  experiment->waves.clear();
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(alone.program.devices); ++d)
    experiment->waves.push_back(memory_wave(experiment->timeline, alone.program, DeviceId{d}));
  Result& result = experiment->result;
  result = summarize(workload, alone.grain, alone.program, alone.prices, experiment->timeline,
                     experiment->waves, cost);
  state_bands(result, workload, cost);
  result.fidelity += ", flows";
  state_left_out(result.leaves_out);
  result.verdict.fixes = alone.result.verdict.fixes;
  result.verdict.gain = alone.result.verdict.gain;
  result.assumptions = alone.result.assumptions;
  result.evaluation = alone.result.evaluation;
  result.ramp = alone.result.ramp;
  run.use.routing = options.routing;
  run.use.tenants = options.tenants;
  run.use.alone = alone.result.step.value;
  run.use.step = result.step.value;
  return {std::move(experiment), std::move(run.use)};
}

}  // namespace trainyard
