// The views of where a plan's work goes as entries of views().
#pragma once

#include "visualizers/view.h"

namespace trainyard {

Drawing draw_communication_of(const ViewData&, Size, const ViewState&);
Hover describe_communication_of(const ViewData&, const Drawing&, Point, const ViewState&);
DataTable table_of_communication(const ViewData&, const ViewState&);

Drawing draw_mesh_of(const ViewData&, Size, const ViewState&);
Hover describe_mesh_of(const ViewData&, const Drawing&, Point, const ViewState&);
DataTable table_of_mesh(const ViewData&, const ViewState&);

Drawing draw_utilisation_of(const ViewData&, Size, const ViewState&);
Hover describe_utilisation_of(const ViewData&, const Drawing&, Point, const ViewState&);
DataTable table_of_utilisation(const ViewData&, const ViewState&);

Drawing draw_graph_of(const ViewData&, Size, const ViewState&);
Hover describe_graph_of(const ViewData&, const Drawing&, Point, const ViewState&);
DataTable table_of_graph(const ViewData&, const ViewState&);

Drawing draw_energy_of(const ViewData&, Size, const ViewState&);
Hover describe_energy_of(const ViewData&, const Drawing&, Point, const ViewState&);
DataTable table_of_energy(const ViewData&, const ViewState&);

}  // namespace trainyard
