#include "visualizers/view_data.h"

#include <utility>

namespace trainyard {

ViewData::ViewData(ExperimentPtr of, std::shared_ptr<const CostModel> cost)
    : experiment(std::move(of)), cost_(std::move(cost)) {}

const TimelineModel& ViewData::timeline() const {
  return on_demand(timeline_, [&] { return timeline_model(experiment); });
}
const MemoryModel& ViewData::memory() const {
  return on_demand(memory_, [&] { return memory_model(experiment); });
}
const Roofline& ViewData::roofline() const {
  return on_demand(roofline_, [&] { return trainyard::roofline(experiment->workload, *cost_); });
}
const OrderGrid& ViewData::order() const {
  return on_demand(order_, [&] { return order_grid(experiment->program); });
}
const StalenessModel& ViewData::staleness() const {
  return on_demand(staleness_, [&] { return staleness_model(experiment); });
}
const WavesModel& ViewData::waves() const {
  return on_demand(waves_, [&] { return waves_model(experiment); });
}
const LayerModel& ViewData::layers() const {
  return on_demand(layers_, [&] { return layer_model(experiment->workload, *cost_); });
}
const ClusterModel& ViewData::cluster() const {
  return on_demand(cluster_, [&] { return cluster_model(*experiment); });
}
const CommunicationModel& ViewData::communication() const {
  return on_demand(communication_, [&] { return communication_model(*experiment, *cost_); });
}
const MeshModel& ViewData::mesh() const {
  return on_demand(mesh_, [&] {
    const Workload& w = experiment->workload;
    return mesh_model(w.scenario.plan.mesh, w.scenario.cluster, w.shard);
  });
}
const UtilisationModel& ViewData::utilisation() const {
  return on_demand(utilisation_, [&] { return utilisation_model(timeline()); });
}
const GraphModel& ViewData::graph() const {
  return on_demand(graph_, [&] { return graph_model(experiment->workload, *cost_); });
}
const EnergyModel& ViewData::energy() const {
  return on_demand(energy_, [&] { return energy_model(*experiment); });
}

}  // namespace trainyard
