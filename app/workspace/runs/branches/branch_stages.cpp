#include "app/workspace/runs/branches/branch_stages.h"

#include <utility>

#include "core/methods/layers/layer_operators.h"
#include "core/methods/layers/weight_pass.h"
#include "core/model/merged_nodes.h"
#include "core/model/ops.h"
#include "planners/branches/operator_merges.h"

namespace trainyard {
namespace {

// Counts the operations of merged operators, and those of their parts one by one.
void count_merged_work(BranchPass& pass, const Graph& graph, const Workload& w, const Body& body,
                       const std::vector<BodyOp>& ops) {
  for (const OperatorMerge& merge : pass.graph.merges) {
    std::vector<const Node*> nodes;
    Flops apart{};
    for (const int one : merge.operators) {
      const BodyOp& op = ops[static_cast<std::size_t>(one)];
      nodes.push_back(&graph[op.node]);
      apart += op.work.flops;
    }
    const BodyOp& op = ops[static_cast<std::size_t>(merge.operators.front())];
    const Graph merged = merged_nodes(graph, nodes);
    const Node& node = merged.nodes[0];
    const Pass part = op.recomputed ? Pass::Forward : op.pass;
    Work work = node.op->work({merged, node, body.binding, w.layout.precision}, part);
    work.kernel = kernel_of(*node.op, part);
    pass.works.push_back(work);
    pass.apart.push_back(apart);
  }
}

}  // namespace

const std::vector<BodyOp>& ops_of(const Body& body, bool backward) {
  return backward ? body.backward : body.forward;
}

BranchPass operators_of(const Workload& w, std::size_t body, bool backward, bool merges) {
  const Body& layer = w.bodies[body];
  const Block& block = w.scenario.model.blocks[static_cast<std::size_t>(layer.block)];
  BranchPass pass{block.name, 0, backward, {}, {}, {}, {}, {}, {}, true};
  for (const std::vector<Workload::Run>& runs : w.runs)
    for (const Workload::Run& run : runs)
      if (static_cast<std::size_t>(run.body) == body) pass.layers += run.count;
  const std::vector<BodyOp>& ops = ops_of(layer, backward);
  pass.graph = layer_operators(block.graph, layer, ops, weight_pass_reads_gradient);
  for (const BodyOp& op : ops) pass.parts.push_back(op.pass);
  if (merges && pass.graph.operators.size() > 1)
    pass.graph.merges = operator_merges(block.graph, ops, pass.graph);
  count_merged_work(pass, block.graph, w, layer, ops);
  return pass;
}

void find_stages(BranchPass& pass, const CoreSharing& sharing, const BranchQuestion& question) {
  const PriceStage price = [&](const OperatorGroups& groups) {
    return StagePrice{stage_time(groups, pass.times, sharing), {}};
  };
  pass.sequential.schedule = sequential_stages(pass.graph, price);
  pass.greedy.schedule = greedy_stages(pass.graph, price);
  if (question.strategy == StageStrategy::Merged) {
    pass.best.schedule = merged_stages(pass.graph, pass.times);
  } else if (pass.graph.merges.empty()) {
    pass.found = best_stages(pass.graph, price, question.limits, question.stop);
    pass.best.schedule = std::exchange(pass.found.schedule, {});
  } else {
    StrategyStages stages =
        strategy_stages(pass.graph, pass.times, sharing, question.limits, question.stop);
    pass.found = std::move(stages.both);
    pass.best.schedule = std::exchange(pass.found.schedule, {});
    pass.concurrent.schedule = std::move(stages.concurrent);
    pass.merged.schedule = std::move(stages.merged);
  }
}

void study_passes(BranchStudy& study, const Workload& w, const BranchQuestion& question,
                  const std::function<BranchPass(std::size_t, bool)>& f) {
  for (std::size_t body = 0; body < w.bodies.size(); ++body)
    for (const bool backward : {false, true}) {
      BranchPass pass = f(body, backward);
      if (pass.graph.operators.size() > 1) study.passes.push_back(std::move(pass));
      if (question.progress)
        question.progress((static_cast<double>(body) + (backward ? 1 : 0.5)) /
                          static_cast<double>(w.bodies.size()));
    }
}

}  // namespace trainyard
