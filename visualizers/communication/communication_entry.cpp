#include "visualizers/communication/communication_view.h"

namespace trainyard {
namespace {

CommunicationState communication_state(const ViewState& state) {
  CommunicationState own;
  own.scale = state.scale;
  own.selected = state.selected;
  return own;
}

}  // namespace

template <>
CommunicationModel make_model(const ViewData& data) {
  return communication_model(*data.experiment, data.cost());
}

constinit const View kCommunicationView{
    .name = "communication",
    .title = "Communication",
    .summary = "bytes sent per step, device by device",
    .size = {1082, 620},
    .tab = "Communication",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          const CommunicationModel& model = data.get<CommunicationModel>();
          const CommunicationState own = communication_state(state);
          draw_communication(drawing, whole(size), model, grid_of(model, whole(size), own), own);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState& state) {
          const Item item = hit(drawing, point);
          if (item.kind == ItemKind::None) return Hover{};
          const CommunicationModel& model = data.get<CommunicationModel>();
          const TrafficGrid grid = grid_of(model, whole(drawing.size), communication_state(state));
          return describe_communication(model, grid, item);
        },
    .table = [](const ViewData& data,
                const ViewState&) { return communication_table(data.get<CommunicationModel>()); }};

}  // namespace trainyard
