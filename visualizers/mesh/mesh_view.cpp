#include "visualizers/mesh/mesh_view.h"

#include <algorithm>
#include <cmath>

#include "core/plan/mesh.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/heat.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kSide = 300, kNodeGap = 8, kRowHeight = 38;
constexpr std::array<float, 14> kCellSizes = {48, 40, 34, 30, 26, 22, 18, 14, 11, 9, 7, 5, 4, 3};
constexpr std::size_t kMembersTold = 8;

// How many devices lie between neighbours along a kind of parallelism, and how many neighbours
// there are.
MeshAxis axis_of(const Mesh& mesh, std::string_view name) {
  const auto degree = [&](std::string_view axis) -> std::int64_t {
    if (axis == "tp") return mesh.tp;
    if (axis == "cp") return mesh.cp;
    if (axis == "pp") return mesh.pp;
    return axis == "dp" ? mesh.dp.value_or(1) : 1;
  };
  std::int64_t stride = 1;
  std::string_view order = mesh.order;
  while (!order.empty()) {
    const std::size_t dash = std::min(order.find('-'), order.size());
    const std::string_view axis = order.substr(0, dash);
    if (axis == name) return {degree(axis), stride};
    stride *= degree(axis);
    order.remove_prefix(std::min(order.size(), dash + 1));
  }
  return {};
}

std::string capital(std::string words) {
  if (!words.empty() && words[0] >= 'a' && words[0] <= 'z')
    words[0] = static_cast<char>(words[0] - 'a' + 'A');
  return words;
}

// Nodes are boxes of cells, which are as large as they can be if all nodes shall fit.
struct Boxes {
  Rect area;
  float cell = 3, label = 0;
  std::int64_t across = 1, down = 1;  // cells of a node
  std::int64_t columns = 1, fitting = 1;

  float width() const {
    return cell * static_cast<float>(across) + label + (cell >= 9 ? kNodeGap : 3);
  }
  float height() const { return cell * static_cast<float>(down) + (cell >= 9 ? kNodeGap : 3); }
  Rect cell_of(std::int64_t device, std::int64_t per_node) const {
    const std::int64_t node = device / per_node, within = device % per_node;
    const Point at = place_of(node);
    return {at.x + cell * static_cast<float>(within % across),
            at.y + cell * static_cast<float>(within / across), cell, cell};
  }
  Point place_of(std::int64_t node) const {
    return {area.x + label + width() * static_cast<float>(node % columns),
            area.y + height() * static_cast<float>(node / columns)};
  }
};

Boxes boxes_of(const Rect& area, const MeshModel& model) {
  Boxes boxes;
  boxes.area = area;
  boxes.across = std::min<std::int64_t>(model.per_node, model.per_node > 16 ? 16 : 8);
  boxes.down = (model.per_node + boxes.across - 1) / boxes.across;
  const std::int64_t nodes = (model.devices + model.per_node - 1) / model.per_node;
  for (const float cell : kCellSizes) {
    boxes.cell = cell;
    boxes.label = cell >= 9 ? 34 : 0;
    boxes.columns = std::max<std::int64_t>(
        1, static_cast<std::int64_t>((area.width + kNodeGap) / boxes.width()));
    const auto rows = static_cast<std::int64_t>(std::max(0.f, area.height / boxes.height()));
    boxes.fitting = boxes.columns * rows;
    if (boxes.fitting >= nodes && boxes.width() <= area.width + kNodeGap) break;
  }
  return boxes;
}

Ink ink_of_rank(std::int64_t rank, std::int64_t count) {
  return count < 2 ? heat(4) : heat(static_cast<int>(rank * (kHeatSteps - 1) / (count - 1)));
}

void draw_nodes(Drawing& drawing, const Boxes& boxes, const MeshModel& model,
                const MeshState& state) {
  const std::int64_t nodes = (model.devices + model.per_node - 1) / model.per_node;
  const std::int64_t shown = std::min(nodes, boxes.fitting);
  const std::int64_t last = std::min(model.devices, shown * model.per_node);
  const std::size_t first = drawing.tiles.size();
  const float gap = boxes.cell >= 5 ? 1.f : 0.f;
  for (std::int64_t device = 0; device < last; ++device) {
    const Rect cell = boxes.cell_of(device, model.per_node);
    const std::int64_t rank = mesh_place(model, device)[state.colour];
    drawing.tiles.push_back({{cell.x, cell.y, cell.width - gap, cell.height - gap},
                             static_cast<std::uint32_t>(device),
                             ItemKind::Cell,
                             ink_of_rank(rank, model.degrees[state.colour]),
                             Tile::Kind::Fill});
  }
  strip(drawing, first, boxes.area);
  if (boxes.label > 0)
    for (std::int64_t node = 0; node < shown; ++node) {
      const Point at = boxes.place_of(node);
      write(drawing, std::to_string(node), {at.x - 5, at.y + boxes.cell / 2}, 10, Weight::Regular,
            Ink::Text3, Align::Right);
    }
  if (boxes.cell >= 18)
    for (std::int64_t device = 0; device < last; ++device) {
      const Rect cell = boxes.cell_of(device, model.per_node);
      const std::int64_t rank = mesh_place(model, device)[state.colour];
      write(drawing, std::to_string(rank), {cell.x + cell.width / 2, cell.y + cell.height / 2}, 10,
            Weight::Medium, label_ink(ink_of_rank(rank, model.degrees[state.colour])),
            Align::Center);
    }
  if (shown < nodes)
    write(drawing, format_count(nodes - shown) + " more nodes not shown; the table has them",
          {boxes.area.x, boxes.area.bottom() + 8}, 10.5f, Weight::Regular, Ink::Warn);
}

bool is_coloured(const MeshGroup& group, std::size_t colour) {
  static constexpr std::array<Group, 5> kGroups5 = {Group::Tensor, Group::Context, Group::Expert,
                                                    Group::Data, Group::Pipeline};
  return group.group == kGroups5[colour];
}

// Marks the other members of the groups of the device that is pointed at. Those of the coloured
// kind are marked more strongly.
void draw_marks(Drawing& drawing, const Boxes& boxes, const MeshModel& model,
                const MeshState& state) {
  if (!state.pointed || *state.pointed < 0 || *state.pointed >= model.devices) return;
  const auto mark = [&](std::int64_t device, float width, Ink ink) {
    if (device / model.per_node >= boxes.fitting) return;
    const Rect cell = boxes.cell_of(device, model.per_node);
    outline(
        drawing,
        {cell.x - width, cell.y - width, cell.width - 1 + 2 * width, cell.height - 1 + 2 * width},
        {.ink = ink, .stroke = width});
  };
  for (const MeshGroup& group : model.groups)
    if (is_coloured(group, state.colour))
      for (const std::int64_t device : group_of(group, *state.pointed))
        mark(device, 2, Ink::Accent);
  mark(*state.pointed, 2, Ink::Select);
}

void draw_groups(Drawing& drawing, const Rect& area, const MeshModel& model,
                 const MeshState& state) {
  const ClipScope clip(drawing, area);
  float y = area.y + 4;
  write(drawing, "rank order " + model.mesh.order + ", fastest first", {area.x, y + 8}, 10.5f,
        Weight::Regular, Ink::Text3);
  y += 24;
  for (std::size_t i = 0; i < model.groups.size(); ++i) {
    const MeshGroup& group = model.groups[i];
    const Rect row{area.x, y, area.width, kRowHeight - 4};
    fill(drawing, row,
         {.ink = is_coloured(group, state.colour) ? Ink::AccentBackground : Ink::Panel,
          .item = {ItemKind::Legend, i}});
    const std::string name(to_string(group.group));
    write(drawing, capital(name) + " \u00D7 " + format_count(group.ranks), {area.x + 8, y + 11}, 11,
          Weight::SemiBold, Ink::Text);
    const std::string where = group.crosses ? "crosses nodes" : "inside a node";
    write(drawing, where, {row.right() - 8, y + 11}, 10.5f, Weight::Medium,
          group.crosses ? Ink::Warn : Ink::Ok, Align::Right);
    write_within(drawing, group_words(group), {area.x + 8, y + 25}, row.width - 16, 10,
                 Weight::Regular, Ink::Text2);
    y += kRowHeight;
  }
}

}  // namespace

MeshModel mesh_model(const Mesh& mesh, const Cluster& cluster, std::int64_t shard) {
  MeshModel model;
  model.mesh = mesh;
  model.devices = cluster.count;
  model.per_node = devices_per_node(cluster);
  model.degrees = {mesh.tp, mesh.cp, mesh.ep, mesh.dp.value_or(1), mesh.pp};
  std::vector<Group> kinds = {Group::Tensor, Group::Context, Group::Expert, Group::Data,
                              Group::Pipeline};
  if (mesh.ulysses > 1 && mesh.ulysses < mesh.cp)
    kinds.insert(kinds.end(), {Group::ContextHeads, Group::ContextRing});
  if (mesh.ep > 1 || whole_experts(mesh)) kinds.push_back(Group::ExpertData);
  if (shard > 1 && shard < ranks(mesh, Group::Data))
    kinds.insert(kinds.end(), {Group::Shard, Group::Replica});
  for (const Group kind : kinds) {
    MeshGroup group;
    group.group = kind;
    group.axes = group_axes(mesh, kind, shard);
    group.ranks = 1;
    for (const MeshAxis& axis : group.axes) group.ranks *= axis.count;
    if (group.ranks < 2) continue;
    if (kind == Group::Pipeline) {
      group.crosses = pipeline_level(mesh, cluster) > 0;
      group.per_node = std::max<std::int64_t>(
          1, model.per_node / std::max<std::int64_t>(1, group.axes[0].stride));
      group.per_node = std::min(group.per_node, group.ranks);
    } else {
      group.per_node = group_shape(mesh, kind, cluster, shard).per_node;
      group.crosses = group.per_node < group.ranks;
    }
    model.groups.push_back(std::move(group));
  }
  return model;
}

MeshPlace mesh_place(const MeshModel& model, std::int64_t device) {
  MeshPlace place{};
  for (std::size_t i = 0; i < kMeshNames.size(); ++i) {
    if (std::string_view(kMeshNames[i]) == "ep") continue;
    const MeshAxis axis = axis_of(model.mesh, kMeshNames[i]);
    place[i] = device / axis.stride % axis.count;
  }
  for (const MeshGroup& group : model.groups)
    if (group.group == Group::Expert) place[2] = place_in(group.axes, device);
  return place;
}

// "PP" of "pp"
std::string in_capitals(std::string_view name) {
  std::string words(name);
  for (char& c : words) c = static_cast<char>(c - 'a' + 'A');
  return words;
}

std::string group_words(const MeshGroup& group) {
  const std::string name(to_string(group.group));
  const std::string ranks = format_count(group.ranks);
  if (group.group == Group::Pipeline)
    return group.crosses ? "some or all boundaries between stages cross nodes"
                         : "all " + ranks + " stages sit in one node";
  if (!group.crosses) return name + " groups of " + ranks + " stay inside a node";
  return name + " groups of " + ranks + " span " + format_count(group.ranks / group.per_node) +
         " nodes, " + format_count(group.per_node) +
         (group.per_node == 1 ? " rank in each" : " ranks in each");
}

std::vector<std::int64_t> group_of(const MeshGroup& group, std::int64_t device) {
  std::vector<std::int64_t> members;
  for (std::int64_t place = 0; place < group.ranks; ++place)
    members.push_back(member(group.axes, device, place));
  return members;
}

MeshState mesh_state(const MeshModel& model) {
  MeshState state;
  if (model.degrees[4] > 1) return state;
  for (std::size_t i = 0; i < model.degrees.size(); ++i)
    if (model.degrees[i] > 1) {
      state.colour = i;
      break;
    }
  return state;
}

void draw_mesh(Drawing& drawing, const Rect& area, const MeshModel& model, const MeshState& state) {
  const ClipScope clip(drawing, area);
  const Rect header{area.x, area.y, area.width, kSectionBar};
  const std::int64_t nodes = (model.devices + model.per_node - 1) / model.per_node;
  const std::string words = format_count(nodes) + (nodes == 1 ? " node" : " nodes") + " of " +
                            format_count(model.per_node) +
                            " devices; numbers and colours show the " +
                            in_capitals(kMeshNames[state.colour]) + " rank";
  write_in_section_bar(drawing, header, draw_section_bar(drawing, header, "Mesh"),
                       header.right() - 20, words);
  const bool beside = area.width >= 640;
  const Rect nodes_area{area.x + 10, header.bottom() + 12,
                        std::max(1.f, area.width - 20 - (beside ? kSide + 24 : 0)),
                        std::max(1.f, area.height - kSectionBar - 30)};
  const Boxes boxes = boxes_of(nodes_area, model);
  draw_nodes(drawing, boxes, model, state);
  draw_marks(drawing, boxes, model, state);
  if (beside)
    draw_groups(drawing,
                {area.right() - kSide - 4, header.bottom() + 8, kSide,
                 std::max(0.f, area.height - kSectionBar - 12)},
                model, state);
}

Hover describe_mesh(const MeshModel& model, Item item) {
  if (item.kind == ItemKind::Legend && item.tag < model.groups.size()) {
    const MeshGroup& group = model.groups[item.tag];
    return {capital(std::string(to_string(group.group))) + " groups",
            std::to_string(group.ranks) + " ranks each",
            group.crosses ? "cross nodes" : "inside a node",
            {group_words(group)}};
  }
  const auto device = static_cast<std::int64_t>(item.tag);
  if (item.kind != ItemKind::Cell || device >= model.devices) return {};
  const MeshPlace place = mesh_place(model, device);
  std::string ranks;
  for (std::size_t i = 0; i < kMeshNames.size(); ++i)
    if (model.degrees[i] > 1)
      ranks += (ranks.empty() ? "" : ", ") + std::string(kMeshNames[i]) + " " +
               std::to_string(place[i]) + " of " + std::to_string(model.degrees[i]);
  Hover hover{"Device " + format_count(device),
              "node " + std::to_string(device / model.per_node) + ", place " +
                  std::to_string(device % model.per_node),
              ranks,
              {}};
  for (const MeshGroup& group : model.groups) {
    const std::vector<std::int64_t> members = group_of(group, device);
    std::string words = std::string(to_string(group.group)) + " group:";
    for (std::size_t i = 0; i < std::min(members.size(), kMembersTold); ++i)
      words += (i == 0 ? " " : ", ") + std::to_string(members[i]);
    if (members.size() > kMembersTold) words += " \u2026 " + std::to_string(members.back());
    hover.lines.push_back(words + (group.crosses ? ", across nodes" : ", inside the node"));
  }
  return hover;
}

DataTable mesh_table(const MeshModel& model) {
  DataTable table{
      "Mesh",
      {{"device", DataUnit::Count}, {"node", DataUnit::Count}, {"place in node", DataUnit::Count}},
      static_cast<std::size_t>(model.devices),
      {},
      {}};
  for (const char* name : kMeshNames)
    table.columns.push_back({std::string(name) + " rank", DataUnit::Count});
  table.item = [](std::size_t row) { return Item{ItemKind::Cell, row}; };
  table.cell = [model](std::size_t row, std::size_t column) -> DataCell {
    const auto device = static_cast<std::int64_t>(row);
    if (column == 0) return device;
    if (column == 1) return device / model.per_node;
    if (column == 2) return device % model.per_node;
    return mesh_place(model, device)[column - 3];
  };
  return table;
}

}  // namespace trainyard
