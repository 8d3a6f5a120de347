#include "visualizers/plan_views.h"

#include "visualizers/view_data.h"

namespace trainyard {
namespace {

CommunicationState communication_state(const ViewState& state) {
  CommunicationState own;
  own.scale = state.scale;
  own.selected = state.selected;
  return own;
}

GraphState graph_state_of(const ViewData& data, const ViewState& state) {
  GraphState own = graph_state(data.graph());
  own.selected = state.selected;
  return own;
}

}  // namespace

Drawing draw_communication_of(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  const CommunicationState own = communication_state(state);
  draw_communication(drawing, whole(size), data.communication(),
                     grid_of(data.communication(), whole(size), own), own);
  return drawing;
}

Hover describe_communication_of(const ViewData& data, const Drawing& drawing, Point point,
                                const ViewState& state) {
  const Item item = hit(drawing, point);
  if (item.kind == ItemKind::None) return {};
  const TrafficGrid grid =
      grid_of(data.communication(), whole(drawing.size), communication_state(state));
  return describe_communication(data.communication(), grid, item);
}

DataTable table_of_communication(const ViewData& data, const ViewState&) {
  return communication_table(data.communication());
}

Drawing draw_mesh_of(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  MeshState own = mesh_state(data.mesh());
  if (state.selected.kind == ItemKind::Cell)
    own.pointed = static_cast<std::int64_t>(state.selected.tag);
  draw_mesh(drawing, whole(size), data.mesh(), own);
  return drawing;
}

Hover describe_mesh_of(const ViewData& data, const Drawing& drawing, Point point,
                       const ViewState&) {
  return describe_mesh(data.mesh(), hit(drawing, point));
}

DataTable table_of_mesh(const ViewData& data, const ViewState&) { return mesh_table(data.mesh()); }

Drawing draw_utilisation_of(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_utilisation(drawing, whole(size), data.timeline(), data.utilisation(), state);
  return drawing;
}

Hover describe_utilisation_of(const ViewData& data, const Drawing& drawing, Point point,
                              const ViewState& state) {
  return describe_utilisation(data.timeline(), data.utilisation(), whole(drawing.size), state,
                              hit(drawing, point), point);
}

DataTable table_of_utilisation(const ViewData& data, const ViewState& state) {
  return utilisation_table(data.timeline(), data.utilisation(), state);
}

Drawing draw_graph_of(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  draw_graph(drawing, whole(size), data.graph(), graph_state_of(data, state));
  return drawing;
}

Hover describe_graph_of(const ViewData& data, const Drawing& drawing, Point point,
                        const ViewState& state) {
  return describe_graph(data.graph(), graph_state_of(data, state), hit(drawing, point));
}

DataTable table_of_graph(const ViewData& data, const ViewState&) {
  return graph_table(data.graph());
}

Drawing draw_energy_of(const ViewData& data, Size size, const ViewState& state) {
  Drawing drawing(size);
  EnergyState own;
  own.selected = state.selected;
  draw_energy(drawing, whole(size), data.energy(), own);
  return drawing;
}

Hover describe_energy_of(const ViewData& data, const Drawing& drawing, Point point,
                         const ViewState&) {
  return describe_energy(data.energy(), {}, hit(drawing, point));
}

DataTable table_of_energy(const ViewData& data, const ViewState&) {
  return energy_table(data.energy(), {});
}

}  // namespace trainyard
