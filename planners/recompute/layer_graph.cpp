#include "planners/recompute/layer_graph.h"

#include <algorithm>

#include "core/methods/layers/saved_tensors.h"
#include "planners/index.h"
#include "planners/recompute/graph_stages.h"
#include "planners/recompute/recompute_layer.h"

namespace trainyard {
namespace {

class LayerGraphWriter {
 public:
  LayerGraphWriter(const Workload& w, const Body& body, const CostModel& cost)
      : w_(w),
        body_(body),
        cost_(cost),
        nodes_(w.scenario.model.blocks[at(body.block)].graph),
        producer_(nodes_.tensors.size(), -1),
        backward_(nodes_.nodes.size(), -1) {
    made_.graph.always = body.input;
    write_forwards();
    for (std::size_t n = nodes_.nodes.size(); n-- > 0;) write_backward(n);
  }

  LayerGraph take() { return std::move(made_); }

 private:
  void write_forwards() {
    const std::vector<LayerNode> all = layer_nodes(w_, body_, cost_);
    for (std::size_t n = 0; n < all.size(); ++n) {
      made_.graph.ops.push_back({all[n].time, all[n].kept + all[n].output, all[n].inputs});
      tidy(made_.graph.ops.back().inputs);
      for (const TensorId out : nodes_.nodes[n].outputs) producer_[out.value] = static_cast<int>(n);
    }
    made_.forwards = static_cast<int>(all.size());
  }

  void write_backward(std::size_t n) {
    const Node& node = nodes_.nodes[n];
    const LocalNode local{nodes_, node, body_.binding, w_.layout.precision,
                          w_.layout.flash_attention};
    GraphOp op;
    for (const BodyOp& each : body_.backward)
      if (each.node.valid() && each.node.value == n && !each.recomputed)
        op.time += op_time(each, w_, cost_);
    for (const TensorId in : node.inputs)
      if (producer_[in.value] >= 0)
        op.bytes += local_bytes(nodes_[in], body_.binding, w_.layout.precision);
    for (std::size_t user = n + 1; user < nodes_.nodes.size(); ++user)
      if (backward_[user] >= 0 && reads(nodes_.nodes[user], node.outputs))
        op.inputs.push_back(backward_[user]);
    for (const Saved& saved : saved_for_backward(local, body_.wanted)) {
      const int from = saved.tensor.valid() ? producer_[saved.tensor.value] : static_cast<int>(n);
      if (from >= 0) op.inputs.push_back(from);
    }
    tidy(op.inputs);
    backward_[n] = static_cast<int>(made_.graph.ops.size());
    made_.graph.ops.push_back(std::move(op));
  }

  static bool reads(const Node& user, const std::vector<TensorId>& outputs) {
    return std::any_of(outputs.begin(), outputs.end(), [&](TensorId out) {
      return std::find(user.inputs.begin(), user.inputs.end(), out) != user.inputs.end();
    });
  }
  static void tidy(std::vector<int>& inputs) {
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  }

  const Workload& w_;
  const Body& body_;
  const CostModel& cost_;
  const Graph& nodes_;
  std::vector<int> producer_;  // by tensor: the node that makes it; -1 where it comes from outside
  std::vector<int> backward_;  // by node: its op
  LayerGraph made_;
};

}  // namespace

LayerGraph layer_graph(const Workload& w, const Body& body, const CostModel& cost) {
  return LayerGraphWriter(w, body, cost).take();
}

std::vector<GraphAction> keep_schedule(const LayerGraph& layer, const std::vector<int>& kept) {
  const int ops = static_cast<int>(layer.graph.ops.size());
  StageTable table = keep_all(layer.graph);
  std::vector<int> last_forward_user(at(layer.forwards), -1);
  for (int op = 0; op < layer.forwards; ++op)
    for (const int in : layer.graph.ops[at(op)].inputs) last_forward_user[at(in)] = op;
  // Into the stage of the first backward comes what is kept, be it for a backward or for what runs
  // again; that stage runs the rest again.
  for (int stage = 0; stage <= layer.forwards && stage < ops; ++stage)
    for (int op = 0; op < layer.forwards; ++op) {
      char& there = table[at(stage) * at(ops) + at(op)];
      if (std::find(kept.begin(), kept.end(), op) != kept.end())
        there = op < stage;
      else if (last_forward_user[at(op)] < stage)
        there = 0;
    }
  return actions_of(layer.graph, with_least_runs(layer.graph, std::move(table)));
}

Bytes kept_for_backward(const LayerGraph& layer, const std::vector<GraphAction>& actions) {
  std::vector<bool> there(layer.graph.ops.size()), ran(layer.graph.ops.size());
  int first_runs = 0;
  for (const GraphAction& action : actions) {
    if (action.compute && first_runs == layer.forwards) break;
    there[at(action.op)] = action.compute;
    if (!ran[at(action.op)]) ran[at(action.op)] = true, ++first_runs;
  }
  Bytes kept = layer.graph.always;
  for (std::size_t op = 0; op < there.size(); ++op)
    if (there[op]) kept += layer.graph.ops[op].bytes;
  return kept;
}

}  // namespace trainyard
