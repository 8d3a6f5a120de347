#include "visualizers/schedule/order_view.h"

#include <memory>
#include <utility>

#include "core/timeline/metrics.h"

namespace trainyard {

DataTable order_table(ExperimentPtr experiment, const OrderGrid& grid) {
  auto cells = std::make_shared<const OrderGrid>(grid);
  DataTable table{"Order",
                  {{"rank", DataUnit::Count},
                   {"lane", DataUnit::Words},
                   {"slot", DataUnit::Count},
                   {"slots", DataUnit::Count},
                   {"action", DataUnit::Words},
                   {"stage", DataUnit::Count},
                   {"microbatch", DataUnit::Count},
                   {"weight version", DataUnit::Count}},
                  cells->cells.size(),
                  {},
                  {}};
  table.item = [cells](std::size_t row) {
    return Item{ItemKind::Cell, cells->cells[row].instruction.value};
  };
  table.cell = [e = std::move(experiment), cells](std::size_t row, std::size_t column) -> DataCell {
    const OrderCell& cell = cells->cells[row];
    const Program& program = e->program;
    const Stream& stream = program.streams[cells->streams[cell.row]];
    const Action action = action_of(program, cell);
    switch (column) {
      case 0:
        return static_cast<std::int64_t>(stream.device.value);
      case 1:
        return stream.name;
      case 2:
        return std::int64_t{cell.slot};
      case 3:
        return std::int64_t{cell.slots};
      case 4:
        return to_text(action);
      case 5:
        return static_cast<std::int64_t>(action.stage.value);
      case 6:
        return std::int64_t{action.microbatch};
      default:
        return std::int64_t{action.weights};
    }
  };
  return table;
}

template <>
OrderGrid make_model(const ViewData& data) {
  OrderGrid grid = order_grid(data.experiment->program);
  grid.end = makespan(data.experiment->timeline);
  return grid;
}

constinit const View kOrderView{
    .name = "order",
    .title = "Order",
    .summary = "the schedule as the grid of the papers",
    .size = {1082, 240},
    .tab = "Order",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_order(drawing, whole(size), data.experiment->program, data.get<OrderGrid>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          return describe_order(data.experiment->program, data.get<OrderGrid>(),
                                hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState&) { return order_table(data.experiment, data.get<OrderGrid>()); }};

}  // namespace trainyard
