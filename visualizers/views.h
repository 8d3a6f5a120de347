// The list of views, by the names that the command line and the window's tabs use. Each is a pure
// function from what is known of an experiment and what a person looks at to a Drawing; files,
// windows and tests read the same data.
#pragma once

#include <span>
#include <string_view>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"
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
#include "visualizers/table.h"
#include "visualizers/timeline_view.h"
#include "visualizers/utilisation_view.h"
#include "visualizers/view_state.h"
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
/// Linear in the instructions and samples of the experiment; safe on any thread.
ViewData view_data(ExperimentPtr, const CostModel&);

struct View {
  std::string_view name;     // "timeline"
  std::string_view title;    // of the tab: "Timeline"
  std::string_view summary;  // one line
  Size size;                 // a good one for a file; any other works
  Drawing (*draw)(const ViewData&, Size, const ViewState&);
  /// What to say of the thing at a point of that drawing; an empty title when there is nothing.
  Hover (*describe)(const ViewData&, const Drawing&, Point, const ViewState&);
  /// The rows behind the picture, for who would rather read them. Outlives the data.
  DataTable (*table)(const ViewData&, const ViewState&);
};
std::span<const View> views();
/// Throws Error{InvalidInput} with the nearest name.
const View& view(std::string_view name);

/// How the analyse view divides its height between timeline and memory.
struct AnalyseLayout {
  Rect timeline, memory;
};
AnalyseLayout analyse_layout(const ViewData&, Size);

}  // namespace trainyard
