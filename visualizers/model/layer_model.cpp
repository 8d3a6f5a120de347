#include <algorithm>
#include <string>

#include "core/cost/kernels/concurrent_kernels.h"
#include "core/plan/mesh.h"
#include "visualizers/model/layer_view.h"

namespace trainyard {
namespace {

struct BodyTimes {
  Duration forward{}, backward{}, weight{};
};

std::int64_t elements(const Tensor& tensor) {
  std::int64_t product = 1;
  for (const Dim& dim : tensor.shape) product *= std::max<std::int64_t>(1, dim.size);
  return product;
}

std::string weight_shape(const Graph& graph, const Node& node) {
  for (const TensorId input : node.inputs) {
    const Tensor& tensor = graph[input];
    if (tensor.kind != TensorKind::Parameter || tensor.shape.size() < 2) continue;
    std::string words;
    for (const Dim& dim : tensor.shape)
      words += (words.empty() ? "" : " \u00D7 ") + std::to_string(dim.size);
    return words;
  }
  return std::string(node.op->name);
}

std::int64_t node_parameters(const Graph& graph, const Node& node) {
  std::int64_t sum = 0;
  for (const TensorId input : node.inputs)
    if (const Tensor& tensor = graph[input];
        tensor.kind == TensorKind::Parameter && tensor.tied_to.empty())
      sum += elements(tensor);
  return sum;
}

class LayerBuilder {
 public:
  LayerBuilder(const Workload& workload, const CostModel& cost) : workload_(workload), cost_(cost) {
    for (const Body& body : workload.bodies) times_.push_back(times_of(body));
  }

  LayerModel build() {
    for (std::size_t s = 0; s < workload_.runs.size(); ++s) {
      Duration sum{};
      for (const Workload::Run& run : workload_.runs[s]) {
        const StageId stage{static_cast<std::uint32_t>(s)};
        add_run(run, stage);
        add_bars(run, stage);
        const BodyTimes& each = times_[static_cast<std::size_t>(run.body)];
        sum += (each.forward + each.backward + each.weight) * run.count;
      }
      model_.stages.push_back(sum);
    }
    return std::move(model_);
  }

 private:
  Duration time_of(const BodyOp& op) const {
    const Scenario& scenario = workload_.scenario;
    if (!op.communication) return cost_.compute(op.work, scenario.cluster.device);
    if (op.overlapped) return {};
    const GroupShape shape =
        group_shape(scenario.plan.mesh, op.group, scenario.cluster, workload_.shard);
    return cost_.collective(op.collective, op.bytes, shape, scenario.cluster).time;
  }

  // An operator that runs beside a longer one adds nothing to its layer.
  std::vector<Duration> times_in_layer(const std::vector<BodyOp>& ops) const {
    std::vector<Duration> times;
    std::vector<WorkCount> works(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      times.push_back(time_of(ops[i]));
      works[i].place = ops[i].place;
    }
    hide_beside_longest(works, times);
    return times;
  }

  BodyTimes times_of(const Body& body) const {
    BodyTimes times;
    for (const Duration one : times_in_layer(body.forward)) times.forward += one;
    const std::vector<Duration> backward = times_in_layer(body.backward);
    for (std::size_t i = 0; i < backward.size(); ++i)
      (body.backward[i].pass == Pass::BackwardWeight ? times.weight : times.backward) +=
          backward[i];
    return times;
  }

  const Block& block_of(const Body& body) const {
    return workload_.scenario.model.blocks[static_cast<std::size_t>(body.block)];
  }

  void add_run(const Workload::Run& run, StageId stage) {
    const Body& body = workload_.bodies[static_cast<std::size_t>(run.body)];
    const Block& block = block_of(body);
    const std::string first = std::to_string(run.first_layer),
                      second = std::to_string(run.first_layer + 1);
    const std::string last = std::to_string(run.first_layer + run.count - 1);
    if (run.count == 1) {
      add_row(0, block.layer ? block.name + " " + first : block.name,
              block.layer ? "one layer" : "", stage, body, 1);
      add_nodes(1, stage, body);
      return;
    }
    add_row(0, block.name + " " + first + " to " + last,
            std::to_string(run.count) + " identical layers", stage, body, run.count);
    add_row(1, block.name + " " + first, "one layer", stage, body, 1);
    add_nodes(2, stage, body);
    const std::string rest = run.count == 2 ? second : second + " to " + last;
    add_row(1, block.name + " " + rest, std::to_string(run.count - 1) + " \u00D7 the same", stage,
            body, run.count - 1);
  }

  void add_row(int depth, std::string name, std::string shape, StageId stage, const Body& body,
               std::int64_t count) {
    const BodyTimes& times = times_[static_cast<std::size_t>(&body - workload_.bodies.data())];
    model_.rows.push_back({depth, std::move(name), std::move(shape), stage,
                           parameters(block_of(body)) * count, saved_bytes(body) * count,
                           times.forward * count});
  }

  void add_nodes(int depth, StageId stage, const Body& body) {
    const Graph& graph = block_of(body).graph;
    for (const BodyOp& op : body.forward) {
      LayerRow row{depth, op.name, "", stage, 0, {}, time_of(op)};
      if (op.communication) {
        row.shape = std::string(to_string(op.collective)) + " among " +
                    std::string(to_string(op.group)) + " ranks";
      } else if (op.node.valid()) {
        row.shape = weight_shape(graph, graph[op.node]);
        row.parameters = node_parameters(graph, graph[op.node]);
        for (const SavedTensor& saved : body.saved)
          if (saved.producer == op.node && !saved.recomputed) row.saved += saved.bytes;
      }
      model_.rows.push_back(std::move(row));
    }
  }

  void add_bars(const Workload::Run& run, StageId stage) {
    const BodyTimes& times = times_[static_cast<std::size_t>(run.body)];
    const Block& block = block_of(workload_.bodies[static_cast<std::size_t>(run.body)]);
    for (int i = 0; i < run.count; ++i) {
      const std::string name =
          block.layer ? block.name + "." + std::to_string(run.first_layer + i) : block.name;
      model_.bars.push_back({name, stage, times.forward, times.backward, times.weight});
    }
  }

  const Workload& workload_;
  const CostModel& cost_;
  std::vector<BodyTimes> times_;  // one a body
  LayerModel model_;
};

}  // namespace

LayerModel layer_model(const Workload& workload, const CostModel& cost) {
  return LayerBuilder(workload, cost).build();
}

}  // namespace trainyard
