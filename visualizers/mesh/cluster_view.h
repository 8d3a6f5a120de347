// The cluster: a box a node with a gauge a device, filled by its predicted peak over the capacity.
// Nodes that hold the same pipeline ranks hold the same bytes, so where not all fit they are drawn
// once and counted.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result/experiment.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// One device of a node.
struct GaugeCell {
  std::int64_t device = 0;  // global rank
  DeviceId rank;            // its pipeline rank
  std::int64_t number = 0;  // its tensor rank, or its place in the node without tensor parallelism
};

/// A node, and how many more hold the same pipeline ranks.
struct NodeBox {
  std::int64_t node = 0;  // the first of them
  std::int64_t alike = 1;
  std::vector<GaugeCell> cells;
};

struct ClusterModel {
  std::vector<NodeBox> nodes;   // every node, in order
  std::vector<NodeBox> folded;  // one a kind of node, by first appearance
};
ClusterModel cluster_model(const Experiment&);

/// Where a device sits in the mesh, following its order. The mesh must be complete.
std::int64_t tensor_rank(const Mesh&, std::int64_t device);
DeviceId pipeline_rank(const Mesh&, std::int64_t device);

/// Items: Cell, tag the device's global rank.
void draw_cluster(Drawing&, const Rect& area, const Experiment&, const ClusterModel&,
                  const ViewState&);
Hover describe_cluster(const Experiment&, Item);

/// Devices by global rank.
DataTable cluster_table(ExperimentPtr);

template <>
ClusterModel make_model(const ViewData&);

extern const View kClusterView;

}  // namespace trainyard
