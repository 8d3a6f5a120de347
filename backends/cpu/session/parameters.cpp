// Implements what goes into a session and comes out of it of the weights.
#include <algorithm>

#include "backends/cpu/session/cpu_session.h"
#include "backends/processes.h"
#include "core/base/error.h"
#include "core/training/lossy_weights.h"

namespace trainyard {

std::vector<TrainedTensor> CpuSession::whole_parameters() const {
  std::vector<TrainedTensor> list;
  for (std::size_t at = 0; at < plan.places.size(); ++at) {
    const StagePlacement& place = plan.places[at];
    if (at > 0 && plan.places[at - 1].stage == place.stage) continue;  // skip the second copy
    for (const PlacedLayer& layer : place.layers)
      for (const PlacedParameter& p : layer.parameters)
        if (p.owner < 0)
          list.push_back(
              {layer.model_layer, p.name, p.whole_shape, execution.whole_parameter(at, layer, p)});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.layer < b.layer; });
  return list;
}

std::vector<TrainedTensor> CpuSession::parameters() {
  execution.fetch_state();
  return first_process() ? whole_parameters() : std::vector<TrainedTensor>{};
}

std::vector<TrainedTensor> CpuSession::statistics() {
  execution.fetch_state();
  return first_process() ? execution.whole_statistics() : std::vector<TrainedTensor>{};
}

void CpuSession::prune_weights() {
  std::vector<TrainedTensor> weights = parameters();
  if (processes != nullptr)
    weights = unpack_tensors(processes->all_gather(pack_tensors(weights)).front());
  prune(training.sparsity, weights);
  set_parameters(weights);
}

void CpuSession::set_parameters(const std::vector<TrainedTensor>& tensors) {
  for (std::size_t at = 0; at < plan.places.size(); ++at) {
    const StagePlacement& place = plan.places[at];
    for (std::size_t l = 0; l < place.layers.size(); ++l)
      for (const PlacedParameter& p : place.layers[l].parameters) {
        if (p.owner >= 0) continue;
        const auto found =
            std::find_if(tensors.begin(), tensors.end(), [&](const TrainedTensor& t) {
              return t.layer == place.layers[l].model_layer && t.name == p.name;
            });
        if (found == tensors.end() || found->shape != p.whole_shape)
          throw Error(Error::Kind::InvalidInput,
                      "expected the parameter \"" + p.name + "\" of layer " +
                          std::to_string(place.layers[l].model_layer) +
                          (found == tensors.end() ? ", found none" : ", found another shape"));
        for (int peer = 0; peer < execution.peers(); ++peer)
          if (execution.here(place.device, peer))
            execution.set_parameter(execution.state(place.device, peer), at, l, p, found->values);
      }
  }
}

}  // namespace trainyard
