#include "visualizers/mesh/mesh_view.h"

namespace trainyard {

template <>
MeshModel make_model(const ViewData& data) {
  const Workload& w = data.experiment->workload;
  return mesh_model(w.scenario.plan.mesh, w.scenario.cluster, w.shard);
}

constinit const View kMeshView{
    .name = "mesh",
    .title = "Mesh",
    .summary = "which rank sits on which device, and which groups cross nodes",
    .size = {1082, 560},
    .tab = "Mesh",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          MeshState own = mesh_state(data.get<MeshModel>());
          if (state.selected.kind == ItemKind::Cell)
            own.pointed = static_cast<std::int64_t>(state.selected.tag);
          draw_mesh(drawing, whole(size), data.get<MeshModel>(), own);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          return describe_mesh(data.get<MeshModel>(), hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState&) { return mesh_table(data.get<MeshModel>()); }};

}  // namespace trainyard
