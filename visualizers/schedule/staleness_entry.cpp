#include "visualizers/schedule/staleness_view.h"

#include <utility>

namespace trainyard {

DataTable staleness_table(const StalenessModel& model) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const StalenessCell& cell : model.cells) {
    items.push_back({ItemKind::Cell, rows.size()});
    rows.push_back({static_cast<std::int64_t>(cell.stage), std::int64_t{cell.microbatch},
                    cell.start.count(), std::int64_t{cell.delay},
                    std::string(cell.consistent ? "same" : "another")});
  }
  return listed_table("Staleness",
                      {{"stage", DataUnit::Count},
                       {"microbatch", DataUnit::Count},
                       {"forward starts", DataUnit::Time},
                       {"updates old", DataUnit::Count},
                       {"version that its backward reads", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

template <>
StalenessModel make_model(const ViewData& data) {
  return staleness_model(data.experiment);
}

constinit const View kStalenessView{
    .name = "staleness",
    .title = "Staleness",
    .summary = "how many updates old the weights of each forward are, stage by time",
    .size = {1082, 260},
    .tab = "Staleness",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_staleness(drawing, whole(size), data.get<StalenessModel>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          return describe_staleness(data.get<StalenessModel>(), hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState&) { return staleness_table(data.get<StalenessModel>()); }};

}  // namespace trainyard
