#include <algorithm>
#include <map>

#include "core/plan/mesh.h"
#include "visualizers/model/graph_view.h"

namespace trainyard {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const Workload& workload, const CostModel& cost)
      : workload_(workload), cost_(cost) {}

  GraphModel build() {
    for (const Body& body : workload_.bodies) model_.bodies.push_back(ops_of(body));
    for (std::size_t stage = 0; stage < workload_.runs.size(); ++stage)
      for (const Workload::Run& run : workload_.runs[stage])
        add_piece(run, StageId{static_cast<std::uint32_t>(stage)});
    for (std::size_t i = 0; i + 1 < model_.pieces.size(); ++i)
      model_.pieces[i].cut = model_.pieces[i].device != model_.pieces[i + 1].device;
    const Scenario& scenario = workload_.scenario;
    model_.microbatches = microbatches(scenario.plan);
    if (!scenario.cluster.levels.empty())
      model_.link =
          scenario.cluster
              .levels[std::min(workload_.pipeline_level, scenario.cluster.levels.size() - 1)]
              .name;
    return std::move(model_);
  }

 private:
  const Block& block_of(const Body& body) const {
    return workload_.scenario.model.blocks[static_cast<std::size_t>(body.block)];
  }

  Duration time_of(const BodyOp& op) const {
    const Scenario& scenario = workload_.scenario;
    if (!op.communication) return cost_.compute(op.work, scenario.cluster.device);
    if (op.overlapped) return {};
    return cost_
        .collective(op.collective, op.bytes,
                    group_shape(scenario.plan.mesh, op.group, scenario.cluster, workload_.shard),
                    scenario.cluster)
        .time;
  }

  Bytes bytes_of(const Tensor& tensor, const Binding& binding) const {
    return local_bytes(tensor, binding, workload_.layout.precision);
  }

  // Who makes each tensor that is worked on; a collective takes its tensor over.
  DrawnGraph ops_of(const Body& body) const {
    DrawnGraph graph;
    const Graph& block = block_of(body).graph;
    std::map<TensorId, std::size_t> maker;
    for (const BodyOp& op : body.forward) {
      const std::size_t index = graph.ops.size();
      DrawnOp made;
      made.name = op.name;
      made.forward = time_of(op);
      made.communication = op.communication;
      const auto read = [&](TensorId id) {
        const auto from = maker.find(id);
        if (from == maker.end()) return;
        graph.edges.push_back(
            {from->second, index, block[id].name, bytes_of(block[id], body.binding)});
        made.column = std::max(made.column, graph.ops[from->second].column + 1);
      };
      if (op.communication) {
        made.op = std::string(to_string(op.group));
        made.name = std::string(to_string(op.collective));
        made.output = op.bytes;
        if (op.tensor.valid()) {
          read(op.tensor);
          maker[op.tensor] = index;
        }
      } else if (op.node.valid()) {
        const Node& node = block[op.node];
        made.op = std::string(node.op->name);
        for (const TensorId id : node.inputs) read(id);
        for (const TensorId id : node.outputs) {
          made.output += bytes_of(block[id], body.binding);
          maker[id] = index;
        }
      }
      graph.ops.push_back(std::move(made));
    }
    place_rows(graph);
    return graph;
  }

  static void place_rows(DrawnGraph& graph) {
    std::map<int, int> used;
    for (DrawnOp& op : graph.ops) {
      op.row = used[op.column]++;
      graph.columns = std::max(graph.columns, op.column + 1);
      graph.rows = std::max(graph.rows, op.row + 1);
    }
  }

  void add_piece(const Workload::Run& run, StageId stage) {
    const Body& body = workload_.bodies[static_cast<std::size_t>(run.body)];
    const Block& block = block_of(body);
    GraphPiece piece;
    piece.name = block.name;
    if (block.layer) {
      piece.name += " " + std::to_string(run.first_layer);
      if (run.count > 1) piece.name += "\u2013" + std::to_string(run.first_layer + run.count - 1);
    }
    piece.stage = stage;
    piece.device = workload_.table[stage.value].device;
    piece.body = run.body;
    piece.count = run.count;
    piece.parameters = parameters(block) * run.count;
    piece.saved = saved_bytes(body) * run.count;
    for (const DrawnOp& op : model_.bodies[static_cast<std::size_t>(run.body)].ops)
      piece.forward += op.forward * run.count;
    piece.output = body.output;
    model_.pieces.push_back(std::move(piece));
  }

  const Workload& workload_;
  const CostModel& cost_;
  GraphModel model_;
};

}  // namespace

GraphModel graph_model(const Workload& workload, const CostModel& cost) {
  return GraphBuilder(workload, cost).build();
}

GraphState graph_state(const GraphModel& model) {
  GraphState state;
  for (std::size_t i = 0; i < model.pieces.size(); ++i)
    if (model.pieces[i].forward > model.pieces[state.open].forward) state.open = i;
  return state;
}

DataTable graph_table(const GraphModel& model) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const GraphPiece& piece = model.pieces[i];
    rows.push_back({piece.name,
                    {},
                    std::int64_t{piece.stage.value},
                    std::int64_t{piece.device.value},
                    std::int64_t{piece.count},
                    piece.parameters,
                    piece.forward.count(),
                    piece.saved.value,
                    piece.output.value,
                    piece.cut ? DataCell{piece.output.value * model.microbatches} : DataCell{}});
    items.push_back({ItemKind::Cell, i});
    for (const DrawnOp& op : model.bodies[static_cast<std::size_t>(piece.body)].ops) {
      rows.push_back({piece.name,
                      op.name,
                      std::int64_t{piece.stage.value},
                      std::int64_t{piece.device.value},
                      std::int64_t{piece.count},
                      {},
                      op.forward.count(),
                      {},
                      op.output.value,
                      {}});
      items.push_back({});
    }
  }
  return listed_table("Model graph",
                      {{"layers", DataUnit::Words},
                       {"op", DataUnit::Words},
                       {"stage", DataUnit::Count},
                       {"pipeline rank", DataUnit::Count},
                       {"how many", DataUnit::Count},
                       {"parameters", DataUnit::Count},
                       {"forward", DataUnit::Time},
                       {"kept for backward", DataUnit::ByteCount},
                       {"output", DataUnit::ByteCount},
                       {"sent per step", DataUnit::ByteCount}},
                      std::move(rows), std::move(items));
}

}  // namespace trainyard
