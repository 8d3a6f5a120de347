#include "visualizers/roofline/roofline_view.h"

#include <algorithm>
#include <utility>

#include "core/cluster/mixed.h"

namespace trainyard {
namespace {

std::vector<DataCell> point_row(const Roofline& roofline, const RooflinePoint& point) {
  const RooflineBound limit = bound(roofline, point);
  return {point.name,
          std::string(to_string(point.math)),
          static_cast<std::int64_t>(point.calls),
          point.time.count(),
          point.share,
          point.flops.value,
          point.bytes.value,
          point.intensity(),
          point.achieved().value,
          limit.attainable.value,
          limit.roof};
}

std::vector<DataCell> traffic_row(const Roofline& roofline, const LinkPoint& link) {
  const SlopeRoof& roof = roofline.links[std::min(link.level, roofline.links.size() - 1)];
  return {link.name + " communication",
          {},
          {},
          link.time.count(),
          {},
          link.flops.value,
          link.bytes.value,
          link.bytes.value > 0 ? DataCell{link.intensity()} : DataCell{},
          {},
          link.bytes.value > 0 ? DataCell{roof.effective.value * link.intensity()} : DataCell{},
          roof.name};
}

}  // namespace

DataTable roofline_table(const Roofline& roofline) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  for (const RooflinePoint& point : roofline.points) {
    items.push_back({ItemKind::Dot, point_tag(point)});
    rows.push_back(point_row(roofline, point));
  }
  for (const LinkPoint& link : roofline.traffic) {
    if (roofline.links.empty()) break;
    items.push_back({ItemKind::Dot, traffic_tag(link)});
    rows.push_back(traffic_row(roofline, link));
  }
  return listed_table("Roofline",
                      {{"work", DataUnit::Words},
                       {"format", DataUnit::Words},
                       {"calls", DataUnit::Count},
                       {"time", DataUnit::Time},
                       {"share of busy time", DataUnit::Share},
                       {"work done", DataUnit::FlopCount},
                       {"moved", DataUnit::ByteCount},
                       {"intensity", DataUnit::Intensity},
                       {"achieved", DataUnit::Throughput},
                       {"attainable", DataUnit::Throughput},
                       {"bound by", DataUnit::Words}},
                      std::move(rows), std::move(items));
}

template <>
Roofline make_model(const ViewData& data) {
  const Experiment& e = *data.experiment;
  // Kinds of devices have roofs of their own, and the step is as long as this rank takes.
  if (is_mixed(e.workload.scenario.cluster))
    return roofline(e.workload, data.cost(), e.result.critical_device);
  return roofline(e.workload, data.cost());
}

constinit const View kRooflineView{
    .name = "roofline",
    .title = "Roofline",
    .summary = "each kind of work under the roofs of device and links",
    .size = {1060, 520},
    .tab = "Roofline",
    .draw =
        [](const ViewData& data, Size size, const ViewState& state) {
          Drawing drawing(size);
          draw_roofline(drawing, whole(size), data.get<Roofline>(), state);
          return drawing;
        },
    .describe =
        [](const ViewData& data, const Drawing& drawing, Point point, const ViewState&) {
          return describe_roofline(data.get<Roofline>(), hit(drawing, point));
        },
    .table = [](const ViewData& data,
                const ViewState&) { return roofline_table(data.get<Roofline>()); }};

}  // namespace trainyard
