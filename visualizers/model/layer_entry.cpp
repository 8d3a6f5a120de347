#include "visualizers/model/layer_view.h"

#include <utility>

namespace trainyard {

DataTable layer_table(const LayerModel& model) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const LayerBar& bar : model.bars) {
    items.push_back({ItemKind::Cell, rows.size()});
    rows.push_back({bar.name, static_cast<std::int64_t>(bar.stage.value), bar.forward.count(),
                    bar.backward.count(), bar.weight.count(), bar.sum().count()});
  }
  return listed_table("Layers",
                      {{"layer", DataUnit::Words},
                       {"stage", DataUnit::Count},
                       {"forward", DataUnit::Time},
                       {"backward", DataUnit::Time},
                       {"weight gradient", DataUnit::Time},
                       {"sum", DataUnit::Time}},
                      std::move(rows), std::move(items));
}

template <>
LayerModel make_model(const ViewData& data) {
  return layer_model(data.experiment->workload, data.cost());
}

constinit const View kLayersView{
    .name = "layers",
    .title = "Layers",
    .summary = "time of each layer, with the stages beneath",
    .size = {1000, 170},
    .tab = "",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_layers(drawing, whole(size), *data.experiment, data.get<LayerModel>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          return describe_layer(data.get<LayerModel>(), hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState&) { return layer_table(data.get<LayerModel>()); }};

}  // namespace trainyard
