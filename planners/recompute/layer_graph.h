// The ops of one layer, forward and backward, as a graph for recompute_graph.h.
#pragma once

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "planners/recompute/op_graph.h"

namespace trainyard {

struct LayerGraph {
  OpGraph graph;
  int forwards = 0;  // the first ops: op n is the forward of node n of the layer
};

/// A forward op makes what its node outputs and what it keeps for backward; a backward op makes the
/// gradients of its node's inputs, and takes those of its outputs and what the op saves. The body
/// must keep everything (policy none). Times are by these prices, collectives included.
LayerGraph layer_graph(const Workload&, const Body&, const CostModel&);

/// What recomputation by policy keep=<nodes> does on that graph: nodes that are not kept and are
/// needed run again ahead of the layer's backward.
std::vector<GraphAction> keep_schedule(const LayerGraph&, const std::vector<int>& kept);

/// The bytes of forward results that are there when every forward op has run once and nothing has
/// begun after that: what the layer holds of a microbatch while other layers and microbatches run.
Bytes kept_for_backward(const LayerGraph&, const std::vector<GraphAction>&);

}  // namespace trainyard
