#include "core/estimate/estimate.h"
#include "core/methods/schedules/wave_offset.h"
#include "visualizers/waves/waves_statistics.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {

template <>
WavesModel make_model(const ViewData& data) {
  const Workload& workload = data.experiment->workload;
  if (!states_wave_offset(workload.scenario.plan)) return waves_model(data.experiment);
  WavesModel model =
      waves_model(data.experiment, phase_times(workload, data.cost()), data.wave_study());
  add_statistics(model);
  return model;
}

constinit const View kWavesView{
    .name = "waves",
    .title = "Waves",
    .summary = "memory of each wave, and the peak at every offset between them",
    .size = {1082, 620},
    .tab = "Waves",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_waves(drawing, whole(size), data.get<WavesModel>(), data.get<TimelineModel>(),
                     state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState& state) {
          return describe_waves(data.get<WavesModel>(), data.get<TimelineModel>(),
                                whole(drawing.size), state, hit(drawing, point), point);
        },
    .table = [](const ViewData& data,
                const ViewState&) { return waves_table(data.get<WavesModel>()); }};

}  // namespace trainyard
