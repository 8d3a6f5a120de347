// The models of all views of one experiment.
#pragma once

#include "visualizers/cluster_view.h"
#include "visualizers/communication_view.h"
#include "visualizers/energy_view.h"
#include "visualizers/graph_view.h"
#include "visualizers/layer_view.h"
#include "visualizers/memory_view.h"
#include "visualizers/mesh_view.h"
#include "visualizers/order_view.h"
#include "visualizers/roofline_view.h"
#include "visualizers/schedule_lanes.h"
#include "visualizers/staleness_view.h"
#include "visualizers/timeline_view.h"
#include "visualizers/utilisation_view.h"
#include "visualizers/view.h"
#include "visualizers/waves_view.h"

namespace trainyard {

/// What views derive from an experiment once, so that each frame asks little. Immutable after
/// view_data.
struct ViewData {
  ExperimentPtr experiment;
  TimelineModel timeline;
  MemoryModel memory;
  Roofline roofline;
  OrderGrid order;
  StalenessModel staleness;
  WavesModel waves;
  LayerModel layers;
  ClusterModel cluster;
  CommunicationModel communication;
  MeshModel mesh;
  UtilisationModel utilisation;
  GraphModel graph;
  EnergyModel energy;
};

}  // namespace trainyard
