// What one layer may keep between forward and backward: the trade of bytes kept against forward
// work done again, over every set of its nodes. Recomputation runs once, ahead of the layer's
// backward, as policy keep=<nodes> of core/methods/memory/recompute.cpp executes it.
#pragma once

#include <vector>

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// One node of a layer's forward, in order of data flow.
struct LayerNode {
  Duration time{};          // of running again, its collectives included; 0 of a view
  std::vector<int> inputs;  // nodes that make what it reads, all before it
  bool needed = false;      // backward reads something that it makes
  Bytes kept{};             // of what backward reads of it
  Bytes output{};           // beside that, of what only nodes that run again read
};

struct KeptSet {
  std::vector<int> nodes;  // that are kept, rising
  Bytes bytes{};
  Duration time{};  // of what runs again
};
/// Every set that no other undercuts in both, rising bytes and falling time; sets of equal cost
/// stand once. Exact: nodes are decided from the last to the first, and what has been decided
/// matters to the rest only by which nodes must still be there.
std::vector<KeptSet> kept_sets(const std::vector<LayerNode>&);

/// The time of one op alone by these prices, whether it computes or is a collective.
Duration op_time(const BodyOp&, const Workload&, const CostModel&);

/// The nodes of the layer of that body, which must keep everything (policy none).
std::vector<LayerNode> layer_nodes(const Workload&, const Body&, const CostModel&);

}  // namespace trainyard
