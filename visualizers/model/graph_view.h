// The model as a graph: runs of equal layers in the order of data flow with the stages that hold
// them, what crosses from each to the next, and the ops of one of them with the tensors between.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// Equal layers that follow each other on one stage.
struct GraphPiece {
  std::string name;  // "layers 0\u20139", "lm_head"
  StageId stage;
  DeviceId device;  // pipeline rank
  int body = 0, count = 1;
  std::int64_t parameters = 0;  // of the whole model, not of one device
  Bytes saved{};                // kept for backward on one device, one microbatch
  Duration forward{};           // of one microbatch on one device, communication included
  Bytes output{};               // that crosses to the next, on one device, one microbatch
  bool cut = false;             // the next is on another device: the output is sent
};

/// An op of a piece, or a collective among its ranks.
struct DrawnOp {
  std::string name, op;  // "q_proj", "matmul"; a collective: "all-reduce", "tensor"
  bool communication = false;
  int column = 0, row = 0;
  Bytes output{};  // on one device, one microbatch
  Duration forward{};
};
struct GraphEdge {
  std::size_t from = 0, to = 0;  // into ops
  std::string tensor;
  Bytes bytes{};
};
struct DrawnGraph {
  std::vector<DrawnOp> ops;  // in order of execution
  std::vector<GraphEdge> edges;
  int columns = 0, rows = 0;
};

struct GraphModel {
  std::vector<GraphPiece> pieces;
  std::vector<DrawnGraph> bodies;  // by GraphPiece::body
  std::int64_t microbatches = 1;
  std::string link;  // that messages between stages cross
};
GraphModel graph_model(const Workload&, const CostModel&);

struct GraphState {
  std::size_t open = 0;  // piece whose ops are shown
  float scroll = 0;      // px by which the pieces are scrolled up, >= 0
  Item selected;
};
/// The piece that takes most time is open.
GraphState graph_state(const GraphModel&);

/// px that all pieces take at that width.
float pieces_height(const GraphModel&, float width);
/// Items: Cell, tag the piece; Dot, tag the op of the open one; Legend, tag the piece whose output
/// an edge is.
void draw_graph(Drawing&, const Rect& area, const GraphModel&, const GraphState&);
Hover describe_graph(const GraphModel&, const GraphState&, Item);
/// Pieces, each followed by the ops of one of its layers.
DataTable graph_table(const GraphModel&);

template <>
GraphModel make_model(const ViewData&);

extern const View kGraphView;

}  // namespace trainyard
