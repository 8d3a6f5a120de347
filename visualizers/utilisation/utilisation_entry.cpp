#include "visualizers/utilisation/utilisation_view.h"

namespace trainyard {

template <>
UtilisationModel make_model(const ViewData& data) {
  return utilisation_model(data.get<TimelineModel>());
}

constinit const View kUtilisationView{
    .name = "utilisation",
    .title = "Utilisation",
    .summary = "how busy each pipeline rank is over time, and the share of peak FLOP/s",
    .size = {1082, 560},
    .tab = "Utilisation",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_utilisation(drawing, whole(size), data.get<TimelineModel>(),
                           data.get<UtilisationModel>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState& state) {
          return describe_utilisation(data.get<TimelineModel>(), data.get<UtilisationModel>(),
                                      whole(drawing.size), state, hit(drawing, point), point);
        },
    .table =
        [](const ViewData& data, const ViewState& state) {
          return utilisation_table(data.get<TimelineModel>(), data.get<UtilisationModel>(), state);
        }};

}  // namespace trainyard
