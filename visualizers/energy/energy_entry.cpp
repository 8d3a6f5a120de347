#include "visualizers/energy/energy_view.h"

namespace trainyard {

template <>
EnergyModel make_model(const ViewData& data) {
  return energy_model(*data.experiment);
}

constinit const View kEnergyView{
    .name = "energy",
    .title = "Energy",
    .summary = "power by activity, and the cost of a training",
    .size = {1082, 520},
    .tab = "Energy",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          EnergyState own;
          own.selected = state.selected;
          draw_energy(drawing, whole(size), data.get<EnergyModel>(), own);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          return describe_energy(data.get<EnergyModel>(), {}, hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState&) { return energy_table(data.get<EnergyModel>(), {}); }};

}  // namespace trainyard
