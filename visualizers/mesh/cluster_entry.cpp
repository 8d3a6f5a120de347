#include "visualizers/mesh/cluster_view.h"

#include <algorithm>
#include <utility>

#include "core/result/figures.h"

namespace trainyard {

DataTable cluster_table(ExperimentPtr experiment) {
  DataTable table{"Cluster",
                  {{"device", DataUnit::Count},
                   {"node", DataUnit::Count},
                   {"pipeline rank", DataUnit::Count},
                   {"tensor rank", DataUnit::Count},
                   {"peak", DataUnit::ByteCount},
                   {"capacity", DataUnit::ByteCount},
                   {"spare", DataUnit::ByteCount}},
                  static_cast<std::size_t>(experiment->workload.scenario.cluster.count),
                  {},
                  {}};
  table.item = [](std::size_t row) { return Item{ItemKind::Cell, row}; };
  table.cell = [e = std::move(experiment)](std::size_t row, std::size_t column) -> DataCell {
    const Scenario& scenario = e->workload.scenario;
    const auto device = static_cast<std::int64_t>(row);
    const DeviceId rank = pipeline_rank(scenario.plan.mesh, device);
    const auto found =
        std::find_if(e->result.memory.begin(), e->result.memory.end(),
                     [&](const StageMemory& memory) { return memory.device == rank; });
    const bool known = found != e->result.memory.end();
    switch (column) {
      case 0:
        return device;
      case 1:
        return device / devices_per_node(scenario.cluster);
      case 2:
        return static_cast<std::int64_t>(rank.value);
      case 3:
        return tensor_rank(scenario.plan.mesh, device);
      case 4:
        return known ? DataCell{found->peak.value.value} : DataCell{};
      case 5:
        return capacity_of(e->result, rank).value;
      default:
        return known ? DataCell{(capacity_of(e->result, rank) - found->peak.value).value}
                     : DataCell{};
    }
  };
  return table;
}

template <>
ClusterModel make_model(const ViewData& data) {
  return cluster_model(*data.experiment);
}

constinit const View kClusterView{
    .name = "cluster",
    .title = "Cluster",
    .summary = "the predicted peak of every device, node by node",
    .size = {1000, 390},
    .tab = "",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_cluster(drawing, whole(size), *data.experiment, data.get<ClusterModel>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          return describe_cluster(*data.experiment, hit(drawing, point));
        },
    .table = [](const ViewData& data, const ViewState&) { return cluster_table(data.experiment); }};

}  // namespace trainyard
