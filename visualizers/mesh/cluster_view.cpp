#include "visualizers/mesh/cluster_view.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "core/base/units_text.h"
#include "core/cluster/mixed.h"
#include "core/plan/mesh.h"
#include "core/result/figures.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kCellWidth = 17, kCellHeight = 48, kCellGap = 2;
constexpr float kBoxHead = 24, kBoxPadding = 8, kBoxGap = 9;
constexpr float kHeadline = 30;
constexpr float kNote = 16;  // px below a row of boxes that say how many nodes each of them stands
                             // for
constexpr float kNetworkBar = 20;

// How far apart the numbers of neighbours along an axis are. This is the product of the sizes of
// the axes that vary faster.
std::int64_t stride_of(const Mesh& mesh, std::string_view wanted) {
  const std::map<std::string, std::int64_t, std::less<>> sizes = {
      {"tp", mesh.tp}, {"cp", mesh.cp}, {"dp", mesh.dp.value_or(1)}, {"pp", mesh.pp}};
  std::int64_t stride = 1;
  for (std::size_t at = 0; at < mesh.order.size();) {
    const std::size_t dash = std::min(mesh.order.find('-', at), mesh.order.size());
    const std::string axis = mesh.order.substr(at, dash - at);
    if (axis == wanted) break;
    if (const auto found = sizes.find(axis); found != sizes.end())
      stride *= found->second;  // ep lies inside the others
    at = dash + 1;
  }
  return stride;
}

// Gauges stand in at most as many columns as the tensor group has members, and never in one long
// row.
std::int64_t columns_of(const Experiment& experiment, std::size_t cells) {
  const auto count = static_cast<std::int64_t>(cells);
  const std::int64_t widest = std::max<std::int64_t>(
      4, static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(count) * 1.5))));
  const std::int64_t tp = experiment.workload.scenario.plan.mesh.tp;
  return std::clamp<std::int64_t>(tp > 1 ? std::min(tp, widest) : widest, 1, count);
}

Bytes peak_of(const Experiment& experiment, DeviceId rank) {
  for (const StageMemory& memory : experiment.result.memory)
    if (memory.device == rank) return memory.peak.value;
  return {};
}

std::vector<std::uint32_t> kind_of(const NodeBox& node) {
  std::vector<std::uint32_t> ranks;
  for (const GaugeCell& cell : node.cells) ranks.push_back(cell.rank.value);
  return ranks;
}

DeviceId worst_rank(const Experiment& experiment, const NodeBox& node) {
  DeviceId worst = node.cells.front().rank;
  for (const GaugeCell& cell : node.cells)
    if (peak_of(experiment, cell.rank) > peak_of(experiment, worst)) worst = cell.rank;
  return worst;
}

// Names the pipeline ranks that a node holds, as in "Stage 0" and "Stages 0\u20133".
std::string node_name(const Experiment& experiment, const NodeBox& node) {
  std::vector<std::uint32_t> ranks = kind_of(node);
  const auto [low, high] = std::minmax_element(ranks.begin(), ranks.end());
  const std::string first = rank_name(experiment.program, DeviceId{*low});
  return *low == *high ? first : first + "\u2013" + std::to_string(*high);
}

struct BoxSize {
  std::int64_t columns = 1, rows = 1;
  float width = 0, height = 0;
};

BoxSize box_size(const Experiment& experiment, const NodeBox& node) {
  BoxSize size;
  size.columns = columns_of(experiment, node.cells.size());
  size.rows = (static_cast<std::int64_t>(node.cells.size()) + size.columns - 1) / size.columns;
  const float cells = static_cast<float>(size.columns) * (kCellWidth + kCellGap) - kCellGap;
  size.width = std::max(88.f, cells + 2 * kBoxPadding);
  size.height = kBoxHead + static_cast<float>(size.rows) * (kCellHeight + kBoxPadding);
  return size;
}

void draw_device_cell(Drawing& drawing, const Experiment& experiment, const GaugeCell& cell,
                      const Rect& rect, const ViewState& state) {
  const Bytes capacity = capacity_of(experiment.result, cell.rank),
              peak = peak_of(experiment, cell.rank);
  const double share = capacity.value > 0 ? std::clamp(peak / capacity, 0.0, 1.0) : 0;
  const bool over = peak > capacity;
  const Item item{ItemKind::Cell, static_cast<std::uint64_t>(cell.device)};
  fill(drawing, rect, {.ink = Ink::Input, .item = item});
  const Rect inside{rect.x + 1, rect.y + 1, rect.width - 2, rect.height - 2};
  const float level = inside.height * static_cast<float>(share);
  const Rect filled{inside.x, inside.bottom() - level, inside.width, level};
  if (over) {
    fill(drawing, filled, {.ink = Ink::Swap, .item = item});
    hatch(drawing, filled, Pattern::Communication, item);
  } else {
    box(drawing, filled, {.ink = Ink::MemoryActivations, .item = item});
  }
  outline(drawing, rect, {.ink = state.selected == item ? Ink::Select : Ink::BorderStrong});
  write(drawing, std::to_string(cell.number), {rect.x + rect.width / 2, rect.bottom() - 9}, 9,
        Weight::SemiBold,
        over          ? Ink::Black
        : share > 0.3 ? label_ink(Ink::MemoryActivations)
                      : Ink::Text,
        Align::Center);
}

void draw_node(Drawing& drawing, const Experiment& experiment, const NodeBox& node,
               const BoxSize& size, Point at, const ViewState& state) {
  const DeviceId worst = worst_rank(experiment, node);
  const Bytes peak = peak_of(experiment, worst);
  const bool over = peak > capacity_of(experiment.result, worst);
  const Rect frame{at.x, at.y, size.width, size.height};
  fill(drawing, frame, {.ink = Ink::Panel});
  outline(drawing, frame, {.ink = over ? Ink::Error : Ink::Border});
  const std::string reading = format_bytes(peak);
  const std::string number = reading.substr(0, reading.find(' '));
  const float room = size.width - 2 * kBoxPadding - text_width(number, 10.5f) - 6;
  write_within(drawing, node_name(experiment, node), {at.x + kBoxPadding, at.y + 12}, room, 10.5f,
               Weight::SemiBold, Ink::Text);
  write(drawing, number, {frame.right() - kBoxPadding, at.y + 12}, 10.5f, Weight::Medium,
        over ? Ink::Error : Ink::Text2, Align::Right);
  const float cells = static_cast<float>(size.columns) * (kCellWidth + kCellGap) - kCellGap;
  const float left = at.x + (size.width - cells) / 2;
  for (std::size_t i = 0; i < node.cells.size(); ++i) {
    const auto column = static_cast<float>(static_cast<std::int64_t>(i) % size.columns);
    const auto row = static_cast<float>(static_cast<std::int64_t>(i) / size.columns);
    draw_device_cell(drawing, experiment, node.cells[i],
                     {left + column * (kCellWidth + kCellGap),
                      at.y + kBoxHead + row * (kCellHeight + kBoxPadding), kCellWidth, kCellHeight},
                     state);
  }
  if (node.alike > 1)
    write(drawing, "\u00D7 " + format_count(node.alike) + " nodes",
          {at.x + size.width / 2, frame.bottom() + 9}, 10, Weight::Medium, Ink::Text2,
          Align::Center);
}

std::string plural(std::int64_t count, const std::string& word) {
  return format_count(count) + " " + word + (count == 1 ? "" : "s");
}

std::string headline(const Experiment& experiment) {
  const Cluster& cluster = experiment.workload.scenario.cluster;
  const std::int64_t per_node = std::min(devices_per_node(cluster), cluster.count);
  return plural(nodes(cluster), "node") + ", each " + format_count(per_node) + " \u00D7 " +
         cluster.device.name + ". Cell = one device, fill = predicted peak of " +
         format_bytes(experiment.result.capacity);
}

// Draws what joins the nodes as a bar below them, with its name at the left and its rate at the
// right.
void draw_network(Drawing& drawing, const Rect& bar, const Cluster& cluster) {
  const Level& level = cluster.levels.back();
  fill(drawing, bar, {.ink = Ink::Header});
  outline(drawing, bar, {.ink = Ink::Border});
  std::string name = level.name + ", " + std::string(to_string(level.topology));
  if (level.oversubscription > 1)
    name += ", oversubscribed " + to_text(level.oversubscription) + " : 1";
  const std::string rate = format_bandwidth(level.bandwidth.value) + " per device, one direction";
  const float y = bar.y + bar.height / 2, room = bar.width - 20;
  const bool both = text_width(name, 10.5f) + text_width(rate, 10.5f) + 16 <= room;
  write_within(drawing, name, {bar.x + 10, y}, room, 10.5f, Weight::Medium, Ink::Text2);
  if (both)
    write(drawing, rate, {bar.right() - 10, y}, 10.5f, Weight::Medium, Ink::Text2, Align::Right);
}

struct Grid {
  std::size_t columns = 1, rows = 1;
  std::size_t size() const { return columns * rows; }
};

Grid grid_of(const Rect& area, const BoxSize& size) {
  const auto fit = [](float room, float each) {
    return static_cast<std::size_t>(std::max(1.f, std::floor(room / each)));
  };
  const float below = kNetworkBar + 20;  // px for the network and for the number of nodes that are
                                         // not shown
  return {fit(area.width - 20 + kBoxGap, size.width + kBoxGap),
          fit(area.height - kHeadline - below + kBoxGap, size.height + kBoxGap + kNote)};
}

}  // namespace

std::int64_t tensor_rank(const Mesh& mesh, std::int64_t device) {
  return device / stride_of(mesh, "tp") % std::max(1, mesh.tp);
}

DeviceId pipeline_rank(const Mesh& mesh, std::int64_t device) {
  return DeviceId{
      static_cast<std::uint32_t>(device / stride_of(mesh, "pp") % std::max(1, mesh.pp))};
}

ClusterModel cluster_model(const Experiment& experiment) {
  const Cluster& cluster = experiment.workload.scenario.cluster;
  const Mesh& mesh = experiment.workload.scenario.plan.mesh;
  const std::int64_t per_node = devices_per_node(cluster);
  ClusterModel model;
  std::map<std::vector<std::uint32_t>, std::size_t> kinds;
  for (std::int64_t first = 0; first < cluster.count; first += per_node) {
    NodeBox node{first / per_node, 1, {}};
    for (std::int64_t d = first; d < std::min(cluster.count, first + per_node); ++d)
      node.cells.push_back(
          {d, pipeline_rank(mesh, d), mesh.tp > 1 ? tensor_rank(mesh, d) : d - first});
    const auto [kind, is_new] = kinds.try_emplace(kind_of(node), model.folded.size());
    if (is_new)
      model.folded.push_back(node);
    else
      ++model.folded[kind->second].alike;
    model.nodes.push_back(std::move(node));
  }
  return model;
}

void draw_cluster(Drawing& drawing, const Rect& area, const Experiment& experiment,
                  const ClusterModel& model, const ViewState& state) {
  if (model.nodes.empty()) return;
  const ClipScope clip(drawing, area);
  const BoxSize size = box_size(experiment, model.nodes.front());
  const Grid grid = grid_of(area, size);
  const std::vector<NodeBox>& list = model.nodes.size() <= grid.size() ? model.nodes : model.folded;
  write_within(drawing, headline(experiment), {area.x + 10, area.y + 14}, area.width - 20, 10.5f,
               Weight::Regular, Ink::Text2);
  const std::size_t drawn = std::min(list.size(), grid.size());
  Rect boxes{area.x + 10, area.y + kHeadline, 0, 0};
  for (std::size_t i = 0; i < drawn; ++i) {
    const Point at{area.x + 10 + static_cast<float>(i % grid.columns) * (size.width + kBoxGap),
                   area.y + kHeadline +
                       static_cast<float>(i / grid.columns) * (size.height + kBoxGap + kNote)};
    draw_node(drawing, experiment, list[i], box_size(experiment, list[i]), at, state);
    const float middle = at.x + size.width / 2, low = at.y + size.height;
    if (drawn <= grid.columns && list[i].alike == 1)
      line(drawing, {middle, low}, {middle, low + kNote}, {.ink = Ink::BorderStrong});
    boxes.width = std::max(boxes.width, at.x + size.width - boxes.x);
    boxes.height = std::max(boxes.height, low - boxes.y);
  }
  const Rect bar{boxes.x, boxes.bottom() + kNote, boxes.width, kNetworkBar};
  draw_network(drawing, bar, experiment.workload.scenario.cluster);
  if (drawn == list.size()) return;
  const auto missing = static_cast<std::int64_t>(list.size() - drawn);
  write(drawing, plural(missing, "more kind") + " of nodes not shown", {bar.x, bar.bottom() + 11},
        10.5f, Weight::Regular, Ink::Warn);
}

Hover describe_cluster(const Experiment& experiment, Item item) {
  const Scenario& scenario = experiment.workload.scenario;
  const auto device = static_cast<std::int64_t>(item.tag);
  if (item.kind != ItemKind::Cell || device >= scenario.cluster.count) return {};
  const DeviceId rank = pipeline_rank(scenario.plan.mesh, device);
  const Bytes peak = peak_of(experiment, rank), capacity = capacity_of(experiment.result, rank);
  Hover hover{"Device " + format_count(device),
              "node " + std::to_string(device / devices_per_node(scenario.cluster)),
              format_bytes(peak),
              {}};
  hover.lines.push_back(rank_name(experiment.program, rank) + ", tensor rank " +
                        std::to_string(tensor_rank(scenario.plan.mesh, device)));
  if (is_mixed(scenario.cluster))
    hover.lines.push_back(
        device_of_kind(scenario.cluster, kind_of_device(scenario.cluster, device)).name);
  hover.lines.push_back(headroom_text((capacity - peak).value, capacity));
  if (std::string words = peak_range_text(experiment, rank); !words.empty())
    hover.lines.push_back(std::move(words));
  return hover;
}

}  // namespace trainyard
