#include "app/workspace/scenario/concurrent_operators.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "core/lowering/lower.h"
#include "core/methods/catalogue.h"
#include "core/methods/layers/layer_operators.h"
#include "core/methods/layers/weight_pass.h"
#include "core/methods/parallel/operator_stages.h"
#include "core/methods/settings/settings.h"
#include "planners/branches/stage_time.h"

namespace trainyard {
namespace {

// Handing a group to another thread and waiting for it takes some microseconds, which prices leave
// out; a stage that gains less is not worth it.
constexpr Duration kHandingOut = std::chrono::microseconds(10);

StagedOps stages_of(const Graph& graph, const Body& body, bool backward, const Device& device,
                    const CostModel& cost, int cores) {
  const std::vector<BodyOp>& ops = backward ? body.backward : body.forward;
  StagedOps found{body.block, backward, {}};
  if (ops.size() < 2) return found;
  const OperatorGraph operators = layer_operators(graph, body, ops, weight_pass_reads_gradient);
  std::vector<OperatorTime> times;
  for (const BodyOp& op : ops) {
    const Duration alone = op.communication ? Duration{} : cost.compute(op.work, device);
    times.push_back({alone, alone});
  }
  const CoreSharing sharing{cores, kHandingOut};
  const BestStages best = best_stages(operators, [&](const OperatorGroups& groups) {
    return StagePrice{stage_time(groups, times, sharing), {}};
  });
  for (const OperatorStage& stage : best.schedule.stages) {
    std::vector<std::vector<int>> dealt = deal(stage.groups, times, cores);
    const bool joins =
        dealt.size() == 1 && !found.stages.empty() && found.stages.back().size() == 1;
    if (!joins)
      found.stages.push_back(std::move(dealt));
    else
      found.stages.back().front().insert(found.stages.back().front().end(), dealt.front().begin(),
                                         dealt.front().end());
  }
  if (found.stages.size() == 1 && found.stages.front().size() == 1) found.stages.clear();
  return found;
}

}  // namespace

bool asks_for_stages(const Plan& plan) {
  return setting(plan, kOperatorStages) == kConcurrentOperators;
}

int take_question(Plan& plan) {
  const Params params =
      with_defaults(find_choice(plan, kOperatorStages)->params, method(kOperatorStages).params);
  remove_choice(plan, kOperatorStages);
  return static_cast<int>(params.integer(kCoresOfDevice));
}

void choose_operator_stages(Scenario& scenario, const CostModel& cost, int cores) {
  const Workload w = prepare(scenario);
  std::vector<StagedOps> all;
  std::set<int> seen;
  for (const Body& body : w.bodies) {
    if (!seen.insert(body.block).second) continue;
    const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
    for (const bool backward : {false, true}) {
      StagedOps one = stages_of(graph, body, backward, w.scenario.cluster.device, cost, cores);
      if (!one.stages.empty()) all.push_back(std::move(one));
    }
  }
  if (all.empty()) return;
  apply_setting(scenario.plan, kOperatorStages, to_text(all));
  choice(scenario.plan, kOperatorStages)
      .params.set(std::string(kCoresOfDevice), std::int64_t{cores});
}

}  // namespace trainyard
