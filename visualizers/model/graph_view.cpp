#include "visualizers/model/graph_view.h"

#include <algorithm>
#include <cmath>

#include "visualizers/chart/section_bar.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/heat.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kBoxWidth = 118, kBoxHeight = 50, kEdge = 62, kRowGap = 26;
constexpr float kOpHeight = 32, kOpGap = 12, kWidestColumn = 130, kNarrowestColumn = 40;

struct Wrap {
  Rect area;
  int columns = 1;

  Rect box(std::size_t piece) const {
    const auto column = static_cast<float>(piece % static_cast<std::size_t>(columns));
    const auto row = static_cast<float>(piece / static_cast<std::size_t>(columns));
    return {area.x + column * (kBoxWidth + kEdge), area.y + row * (kBoxHeight + kRowGap), kBoxWidth,
            kBoxHeight};
  }
};

Wrap wrap_of(const Rect& area) {
  return {area, std::max(1, static_cast<int>((area.width + kEdge) / (kBoxWidth + kEdge)))};
}

Ink stage_ink(const GraphModel& model, StageId stage) {
  const std::uint32_t last = model.pieces.back().stage.value;
  return last == 0 ? heat(6) : heat(static_cast<int>(stage.value * (kHeatSteps - 1) / last));
}

void draw_edge(Drawing& drawing, const Wrap& wrap, const GraphModel& model, std::size_t piece,
               const GraphState& state) {
  const GraphPiece& from = model.pieces[piece];
  const Rect a = wrap.box(piece), b = wrap.box(piece + 1);
  const Item item{ItemKind::Legend, piece};
  const Style style{.ink = from.cut ? Ink::Communication : Ink::Axis,
                    .stroke = from.cut ? 2.f : 1.f,
                    .dash_on = from.cut ? 4.f : 0.f,
                    .dash_off = 3,
                    .item = item};
  const float y = a.y + a.height / 2;
  const std::string bytes = format_bytes(from.output);
  const Ink ink = state.selected == item ? Ink::Text : from.cut ? Ink::Text : Ink::Text3;
  if (b.y > a.y) {
    const float below = a.bottom() + kRowGap / 2;
    polyline(drawing,
             {{a.right(), y},
              {a.right() + 14, y},
              {a.right() + 14, below},
              {b.x - 8, below},
              {b.x - 8, b.y + b.height / 2},
              {b.x, b.y + b.height / 2}},
             style);
    write(drawing, bytes, {a.right(), a.bottom() + 6}, 10, Weight::Medium, ink, Align::Right);
  } else {
    line(drawing, {a.right(), y}, {b.x, y}, style);
    polygon(drawing, {{b.x - 5, y - 3.5f}, {b.x, y}, {b.x - 5, y + 3.5f}},
            {.ink = style.ink, .item = item});
    write(drawing, bytes, {(a.right() + b.x) / 2, y - 9}, 10, Weight::Medium, ink, Align::Center);
    if (from.cut)
      write(drawing, "\u00D7 " + format_count(model.microbatches), {(a.right() + b.x) / 2, y + 10},
            10, Weight::Regular, Ink::Text3, Align::Center);
  }
}

void draw_piece(Drawing& drawing, const Rect& box, const GraphModel& model, std::size_t index,
                const GraphState& state) {
  const GraphPiece& piece = model.pieces[index];
  const Item item{ItemKind::Cell, index};
  fill(drawing, box,
       {.ink = state.open == index ? Ink::AccentBackground : Ink::Panel, .item = item});
  fill(drawing, {box.x, box.y, 5, box.height},
       {.ink = stage_ink(model, piece.stage), .item = item});
  outline(drawing, box, {.ink = state.open == index ? Ink::Accent : Ink::BorderStrong});
  if (state.selected == item) frame_selected(drawing, box, 3);
  const float left = box.x + 12, room = box.width - 18;
  write_within(drawing, piece.name, {left, box.y + 12}, room, 11, Weight::SemiBold, Ink::Text);
  const std::string stage = "stage " + std::to_string(piece.stage.value);
  write_within(drawing,
               stage + (piece.count > 1 ? ", " + std::to_string(piece.count) + " layers" : ""),
               {left, box.y + 26}, room, 10, Weight::Regular, Ink::Text2);
  write_within(
      drawing,
      format_large(static_cast<double>(piece.parameters)) + ", " + format_duration(piece.forward),
      {left, box.y + 39}, room, 10, Weight::Regular, Ink::Text3);
}

// Says where ops lie. Their column follows from what they wait for, and rows lie around the middle.
struct OpPlot {
  Rect area;
  float pitch = 100, width = 86, lift = 0;  // lift: px above the rows for edges that pass them

  Rect box(const DrawnGraph& graph, const DrawnOp& op) const {
    int in_column = 0;
    for (const DrawnOp& other : graph.ops) in_column += other.column == op.column;
    const float all = static_cast<float>(in_column) * (kOpHeight + kOpGap) - kOpGap;
    const float most = static_cast<float>(graph.rows) * (kOpHeight + kOpGap) - kOpGap;
    return {area.x + pitch * static_cast<float>(op.column),
            area.y + lift + (most - all) / 2 + static_cast<float>(op.row) * (kOpHeight + kOpGap),
            width, kOpHeight};
  }
};

OpPlot op_plot(const Rect& area, const DrawnGraph& graph) {
  OpPlot plot;
  plot.area = area;
  plot.pitch = std::clamp(area.width / static_cast<float>(std::max(1, graph.columns)),
                          kNarrowestColumn, kWidestColumn);
  plot.width = plot.pitch - std::min(18.f, plot.pitch * 0.22f);
  int passing = 0;
  for (const GraphEdge& edge : graph.edges)
    passing += graph.ops[edge.to].column > graph.ops[edge.from].column + 1;
  plot.lift = 8 + 7 * static_cast<float>(std::min(passing, 6));
  return plot;
}

void draw_op_edges(Drawing& drawing, const OpPlot& plot, const DrawnGraph& graph,
                   const GraphState& state) {
  int passing = 0;
  for (const GraphEdge& edge : graph.edges) {
    const Rect a = plot.box(graph, graph.ops[edge.from]), b = plot.box(graph, graph.ops[edge.to]);
    const bool touched = state.selected == Item{ItemKind::Dot, edge.from} ||
                         state.selected == Item{ItemKind::Dot, edge.to};
    const Style style{.ink = touched ? Ink::Accent : Ink::Axis, .stroke = touched ? 1.5f : 1.f};
    const Point from{a.right(), a.y + a.height / 2}, to{b.x, b.y + b.height / 2};
    if (graph.ops[edge.to].column == graph.ops[edge.from].column + 1) {
      line(drawing, from, to, style);
      continue;
    }
    const float y = plot.area.y + plot.lift - 6 - 7 * static_cast<float>(passing++ % 6);
    polyline(drawing, {from, {from.x + 4, y}, {to.x - 4, y}, to}, style);
  }
}

void draw_ops(Drawing& drawing, const Rect& area, const GraphModel& model,
              const GraphState& state) {
  const GraphPiece& piece = model.pieces[state.open];
  const DrawnGraph& graph = model.bodies[static_cast<std::size_t>(piece.body)];
  const ClipScope clip(drawing, area);
  const Rect header{area.x, area.y, area.width, kSectionBar};
  const std::string title = piece.count > 1 ? "one of " + piece.name : piece.name;
  write_in_section_bar(drawing, header, draw_section_bar(drawing, header, title),
                       header.right() - 10,
                       std::to_string(graph.ops.size()) +
                           " ops; output size below each name, one microbatch on one device");
  const OpPlot plot = op_plot(
      {area.x + 10, area.y + kSectionBar + 4, area.width - 20, area.height - kSectionBar}, graph);
  draw_op_edges(drawing, plot, graph, state);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const DrawnOp& op = graph.ops[i];
    const Rect box = plot.box(graph, op);
    const Item item{ItemKind::Dot, i};
    const Ink ink = op.communication ? Ink::Communication : Ink::Raised;
    fill(drawing, box, {.ink = ink, .item = item});
    outline(drawing, box, {.ink = state.selected == item ? Ink::Select : Ink::BorderStrong});
    const Ink words = op.communication ? Ink::Black : Ink::Text;
    write_within(drawing, op.name, {box.x + box.width / 2, box.y + 10}, box.width - 4, 10,
                 Weight::Medium, words, Align::Center);
    write_within(drawing, format_bytes(op.output), {box.x + box.width / 2, box.y + 22},
                 box.width - 4, 9.5f, Weight::Regular, op.communication ? Ink::Black : Ink::Text3,
                 Align::Center);
  }
}

float ops_height(const GraphModel& model, const GraphState& state) {
  const DrawnGraph& graph = model.bodies[static_cast<std::size_t>(model.pieces[state.open].body)];
  return kSectionBar + 70 + static_cast<float>(graph.rows) * (kOpHeight + kOpGap);
}

}  // namespace

float pieces_height(const GraphModel& model, float width) {
  const int columns = wrap_of({0, 0, width - 20, 0}).columns;
  const auto rows = (model.pieces.size() + static_cast<std::size_t>(columns) - 1) /
                    static_cast<std::size_t>(columns);
  return static_cast<float>(rows) * (kBoxHeight + kRowGap);
}

void draw_graph(Drawing& drawing, const Rect& area, const GraphModel& model,
                const GraphState& given) {
  if (model.pieces.empty()) return;
  GraphState state = given;
  state.open = std::min(state.open, model.pieces.size() - 1);
  const ClipScope clip(drawing, area);
  const Rect header{area.x, area.y, area.width, kSectionBar};
  const auto cuts = std::count_if(model.pieces.begin(), model.pieces.end(),
                                  [](const GraphPiece& piece) { return piece.cut; });
  const std::string words = cuts == 0 ? "no tensor crosses between devices of the pipeline"
                                      : std::to_string(cuts) + (cuts == 1 ? " edge" : " edges") +
                                            " cut (dashed): sent over " + model.link +
                                            " once per microbatch, gradients back";
  write_in_section_bar(drawing, header, draw_section_bar(drawing, header, "Model graph"),
                       header.right() - 20, words);
  const float below = std::min(ops_height(model, state), (area.height - kSectionBar) * 0.6f);
  const Rect upper{area.x, header.bottom(), area.width,
                   std::max(0.f, std::min(area.height - kSectionBar - below,
                                          pieces_height(model, area.width) + 20))};
  {
    const ClipScope inside(drawing, upper);
    const Wrap wrap =
        wrap_of({upper.x + 10, upper.y + 16 - state.scroll, upper.width - 20, upper.height});
    for (std::size_t i = 0; i + 1 < model.pieces.size(); ++i)
      draw_edge(drawing, wrap, model, i, state);
    for (std::size_t i = 0; i < model.pieces.size(); ++i)
      draw_piece(drawing, wrap.box(i), model, i, state);
  }
  draw_ops(drawing,
           {area.x, upper.bottom(), area.width, std::max(0.f, area.bottom() - upper.bottom())},
           model, state);
}

Hover describe_graph(const GraphModel& model, const GraphState& state, Item item) {
  if (item.kind == ItemKind::Cell && item.tag < model.pieces.size()) {
    const GraphPiece& piece = model.pieces[item.tag];
    return {piece.name,
            "stage " + std::to_string(piece.stage.value) + ", pipeline rank " +
                std::to_string(piece.device.value),
            format_duration(piece.forward) + " forward",
            {format_large(static_cast<double>(piece.parameters)) + " parameters, " +
                 format_bytes(piece.saved) + " kept for backward per microbatch",
             "one microbatch on one device, communication included"}};
  }
  if (item.kind == ItemKind::Legend && item.tag + 1 < model.pieces.size()) {
    const GraphPiece& piece = model.pieces[item.tag];
    Hover hover{piece.name + " \u2192 " + model.pieces[item.tag + 1].name,
                piece.cut ? "sent over " + model.link : "stays on the device",
                format_bytes(piece.output),
                {"one microbatch on one device"}};
    if (piece.cut)
      hover.lines.push_back("\u00D7 " + format_count(model.microbatches) +
                            " microbatches = " + format_bytes(piece.output * model.microbatches) +
                            " per step and device, and as many gradient bytes back");
    return hover;
  }
  if (item.kind != ItemKind::Dot || model.pieces.empty()) return {};
  const std::size_t open = std::min(state.open, model.pieces.size() - 1);
  const DrawnGraph& graph = model.bodies[static_cast<std::size_t>(model.pieces[open].body)];
  if (item.tag >= graph.ops.size()) return {};
  const DrawnOp& op = graph.ops[item.tag];
  Hover hover{op.name,
              op.communication ? "among " + op.op + " ranks" : op.op,
              format_duration(op.forward),
              {}};
  hover.lines.push_back("output " + format_bytes(op.output));
  std::string reads;
  for (const GraphEdge& edge : graph.edges)
    if (edge.to == item.tag)
      reads +=
          (reads.empty() ? "reads " : ", ") + edge.tensor + " (" + format_bytes(edge.bytes) + ")";
  if (!reads.empty()) hover.lines.push_back(reads);
  return hover;
}

}  // namespace trainyard
