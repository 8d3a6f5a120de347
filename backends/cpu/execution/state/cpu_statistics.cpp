// Implements what batch norms remember of a run for its evaluation. Ranks do not exchange it while
// they train, as in frameworks: each remembers what its norms normalised by.
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/memory/tensor_part.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

const PlacedParameter& gain_of(const PlacedLayer& layer, const Node& norm) {
  return layer.parameters[static_cast<std::size_t>(layer.of_tensor[norm.inputs[1].value])];
}

}  // namespace

void CpuExecution::hold_statistics(StageState& stage, const StagePlacement& place) const {
  for (std::size_t l = 0; l < place.layers.size(); ++l) {
    const Graph& graph = *plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)].graph;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
      if (graph.nodes[n].op == &batch_norm())
        stage.statistics.try_emplace(
            {l, n}, static_cast<std::size_t>(gain_of(place.layers[l], graph.nodes[n]).elements));
  }
}

// A forward that is computed again has been seen before, and so has one that only finds what
// replicas average.
bool CpuExecution::is_seen_by_statistics(const At& a, const Node& node, Pass pass) const {
  return node.op == &batch_norm() && pass == Pass::Forward && a.task.list == BodyList::Forward &&
         a.task.kind == TaskKind::Compute && jobs_.size() == 1;  // nothing evaluates a job of a
                                                                 // fused run
}

void CpuExecution::run_batch_norm(const At& a, std::size_t l, NodeId node,
                                  const KernelCall& call) const {
  ChannelStatistics seen;
  KernelCall asking = call;
  asking.statistics = &seen;
  if (asking.norm_means != nullptr)
    run_with_means(a, asking, Pass::Forward);
  else
    run_kernel(asking, Pass::Forward);
  a.device.stage(a.place).statistics.at({l, node.value}).see(a.microbatch, std::move(seen.values));
}

// Several ranks, and both copies of a stage, have seen different samples of one model: their mean
// is the model's.
std::vector<TrainedTensor> CpuExecution::whole_statistics() const {
  std::vector<TrainedTensor> list;
  for (std::size_t at = 0; at < plan_.places.size(); ++at) {
    const StagePlacement& place = plan_.places[at];
    if (at > 0 && plan_.places[at - 1].stage == place.stage) continue;
    for (const auto& [key, own] : state(place.device, 0).stage(at).statistics) {
      const PlacedLayer& layer = place.layers[key.first];
      const Node& node =
          plan_.layouts[static_cast<std::size_t>(layer.layout)].graph->nodes[key.second];
      const PlacedParameter& gain = gain_of(layer, node);
      const auto channels = static_cast<std::size_t>(gain.whole_shape[0]);
      std::vector<double> sums(2 * channels, 0.0), counts(channels, 0.0);
      for (std::size_t copy = at;
           copy < plan_.places.size() && plan_.places[copy].stage == place.stage; ++copy)
        for (int peer = 0; peer < peers(); ++peer) {
          const std::span<const float> values =
              state(plan_.places[copy].device, peer).stage(copy).statistics.at(key).values();
          const TensorPart held = tensor_part(gain, plan_.peers.part_of(gain, peer));
          for (std::size_t c = 0; c < values.size() / 2; ++c) {
            const std::int64_t index = held.index(static_cast<std::int64_t>(c));
            if (index < 0) continue;
            const auto whole = static_cast<std::size_t>(index);
            sums[2 * whole] += static_cast<double>(values[2 * c]);
            sums[2 * whole + 1] += static_cast<double>(values[2 * c + 1]);
            ++counts[whole];
          }
        }
      TrainedTensor mean{layer.model_layer, running_mean_of(node), gain.whole_shape, {}},
          variance{layer.model_layer, running_variance_of(node), gain.whole_shape, {}};
      for (std::size_t c = 0; c < channels; ++c) {
        mean.values.push_back(static_cast<float>(sums[2 * c] / counts[c]));
        variance.values.push_back(static_cast<float>(sums[2 * c + 1] / counts[c]));
      }
      list.push_back(std::move(mean));
      list.push_back(std::move(variance));
    }
  }
  return list;
}

}  // namespace trainyard
