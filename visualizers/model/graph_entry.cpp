#include "visualizers/model/graph_view.h"

namespace trainyard {
namespace {

GraphState state_of_graph(const ViewData& data, const ViewState& state) {
  GraphState own = graph_state(data.get<GraphModel>());
  own.selected = state.selected;
  return own;
}

}  // namespace

template <>
GraphModel make_model(const ViewData& data) {
  return graph_model(data.experiment->workload, data.cost());
}

constinit const View kGraphView{
    .name = "graph",
    .title = "Graph",
    .summary = "the model's layers with their stages, and the tensors between them",
    .size = {1082, 560},
    .tab = "Graph",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_graph(drawing, whole(size), data.get<GraphModel>(), state_of_graph(data, state));
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState& state) {
          return describe_graph(data.get<GraphModel>(), state_of_graph(data, state),
                                hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState&) { return graph_table(data.get<GraphModel>()); }};

}  // namespace trainyard
