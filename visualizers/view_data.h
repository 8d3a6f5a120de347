// The models of all views of one experiment, each made when the first view asks for it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "visualizers/communication/communication_view.h"
#include "visualizers/energy/energy_view.h"
#include "visualizers/mesh/cluster_view.h"
#include "visualizers/mesh/mesh_view.h"
#include "visualizers/model/graph_view.h"
#include "visualizers/model/layer_view.h"
#include "visualizers/roofline/roofline_view.h"
#include "visualizers/schedule/order_view.h"
#include "visualizers/schedule/staleness_view.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/utilisation/utilisation_view.h"
#include "visualizers/view.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {

/// What views derive from an experiment once, so that each frame asks little. A model stays as it
/// is once it is made, linear in the instructions and samples of the experiment; any thread may
/// ask.
class ViewData {
 public:
  ViewData(ExperimentPtr, std::shared_ptr<const CostModel>);

  const ExperimentPtr experiment;

  const TimelineModel& timeline() const;
  const MemoryModel& memory() const;
  const Roofline& roofline() const;
  const OrderGrid& order() const;
  const StalenessModel& staleness() const;
  const WavesModel& waves() const;
  const LayerModel& layers() const;
  const ClusterModel& cluster() const;
  const CommunicationModel& communication() const;
  const MeshModel& mesh() const;
  const UtilisationModel& utilisation() const;
  const GraphModel& graph() const;
  const EnergyModel& energy() const;

  /// How many of them there are by now.
  int made() const { return made_; }

 private:
  template <class Model>
  struct OnDemand {
    std::once_flag once;
    std::optional<Model> model;
  };
  template <class Model, class Make>
  const Model& on_demand(OnDemand<Model>& place, const Make& make) const {
    std::call_once(place.once, [&] {
      place.model.emplace(make());
      ++made_;
    });
    return *place.model;
  }

  std::shared_ptr<const CostModel> cost_;
  mutable std::atomic<int> made_ = 0;
  mutable OnDemand<TimelineModel> timeline_;
  mutable OnDemand<MemoryModel> memory_;
  mutable OnDemand<Roofline> roofline_;
  mutable OnDemand<OrderGrid> order_;
  mutable OnDemand<StalenessModel> staleness_;
  mutable OnDemand<WavesModel> waves_;
  mutable OnDemand<LayerModel> layers_;
  mutable OnDemand<ClusterModel> cluster_;
  mutable OnDemand<CommunicationModel> communication_;
  mutable OnDemand<MeshModel> mesh_;
  mutable OnDemand<UtilisationModel> utilisation_;
  mutable OnDemand<GraphModel> graph_;
  mutable OnDemand<EnergyModel> energy_;
};

}  // namespace trainyard
