#include "visualizers/schedule/order_view.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kOrderRow = 22;   // px from one row to the next
constexpr float kOrderCell = 18;  // px of a cell's height
constexpr float kOrderTop = 30;
constexpr float kNarrowestSlot = 4;  // px of a slot; slots that do not fit are left out and counted
constexpr float kWidestSlot = 26;

// How wide the slots of a grid are in an area, and how many of them fit.
struct Geometry {
  Rect plot;
  float slot = 1;         // width in px
  std::int32_t seen = 0;  // how many slots fit
};

Geometry geometry(const Rect& area, const OrderGrid& grid) {
  Geometry g;
  g.plot = plot_of(area);
  const float fitting = g.plot.width / static_cast<float>(std::max(1, grid.slots));
  g.slot = std::clamp(fitting, kNarrowestSlot, kWidestSlot);
  g.seen = std::min(grid.slots, static_cast<std::int32_t>(g.plot.width / g.slot));
  return g;
}

float top_of(std::uint32_t row, const Rect& area, const ViewState& state) {
  return area.y + kOrderTop + kOrderRow * static_cast<float>(row) - state.scroll;
}

Rect rect_of(const Geometry& g, const OrderCell& cell, const Rect& area, const ViewState& state) {
  return {g.plot.x + g.slot * static_cast<float>(cell.slot), top_of(cell.row, area, state),
          g.slot * static_cast<float>(cell.slots), kOrderCell};
}

std::int32_t slots_of(const Task& task) {
  if (task.kind != TaskKind::Compute) return 0;
  return task.phase == Phase::Backward ? 2 : 1;
}

// Runs the program with slots instead of time, one stream after another until none can go on.
class Slotter {
 public:
  explicit Slotter(const Program& program)
      : program_(program),
        end_(program.instructions.size(), kWaiting),
        next_(program.streams.size()),
        free_(program.streams.size()) {}

  std::vector<std::int32_t> run() {
    std::size_t done = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < program_.streams.size(); ++s)
        while (step(s)) moved = true, ++done;
    }
    if (done != program_.instructions.size())
      throw Error(Error::Kind::Internal,
                  "the program waits for itself; expected one that verify() accepts",
                  {"order grid"});
    return std::move(end_);
  }

 private:
  static constexpr std::int32_t kWaiting = -1;

  bool step(std::size_t s) {
    const Stream& stream = program_.streams[s];
    if (next_[s] == stream.count) return false;
    const std::uint32_t id = stream.first + next_[s];
    const Instruction& instruction = program_.instructions[id];
    std::int32_t start = free_[s];
    for (std::uint32_t i = 0; i < instruction.afters; ++i) {
      const std::int32_t end = end_[program_.after[instruction.first_after + i].value];
      if (end == kWaiting) return false;
      start = std::max(start, end);
    }
    const Task& task = program_.task(instruction);
    if (task.kind == TaskKind::Receive && instruction.peer.valid()) {
      if (end_[instruction.peer.value] == kWaiting) return false;
      start = std::max(start, end_[instruction.peer.value]);
    }
    end_[id] = free_[s] = start + slots_of(task);
    ++next_[s];
    return true;
  }

  const Program& program_;
  std::vector<std::int32_t> end_;
  std::vector<std::uint32_t> next_;
  std::vector<std::int32_t> free_;
};

std::string cell_text(const Task& task, const Instruction& instruction, float room, float size) {
  const std::string number = std::to_string(instruction.microbatch);
  const std::string full = letter(task.phase) + number;
  const auto fits = [&](const std::string& words) { return text_width(words, size) + 1 <= room; };
  if (task.phase == Phase::Update) return fits("U") ? "U" : "";
  if (task.phase == Phase::Forward) return fits(number) ? number : "";
  if (fits(full)) return full;
  return task.phase != Phase::BackwardWeight && fits(number) ? number : "";
}

std::string row_name(const Program& program, std::uint32_t stream) {
  const Stream& s = program.streams[stream];
  return rank_name(program, s.device) + (s.name == "compute" ? "" : " " + s.name);
}

void draw_order_cell(Drawing& drawing, const Program& program, const OrderCell& cell,
                     const Rect& rect, const ViewState& state) {
  const Task& task = program.task(cell.instruction);
  const Item item{ItemKind::Cell, cell.instruction.value};
  const Rect inside{rect.x, rect.y, std::max(1.f, rect.width - (rect.width > 3 ? 1.f : 0.f)),
                    rect.height};
  box(drawing, inside, {.ink = ink_of(task), .item = item});
  const float size = rect.width < 16 ? 8.5f : 10.f;
  write(drawing, cell_text(task, program.instructions[cell.instruction.value], inside.width, size),
        {inside.x + inside.width / 2, inside.y + inside.height / 2}, size, Weight::Medium,
        label_ink(ink_of(task)), Align::Center);
  if (state.selected == item || state.selected == Item{ItemKind::Span, cell.instruction.value})
    frame_selected(drawing, inside, 3);
}

void draw_order_words(Drawing& drawing, const Rect& area, const Rect& plot, const OrderGrid& grid,
                      std::int32_t seen) {
  write(drawing, "Order", {area.x + 10, area.y + 15}, 11, Weight::SemiBold, Ink::Text);
  std::string words =
      format_count(grid.slots) + " slots: forward 1, backward 2, each part of a split backward 1";
  if (seen < grid.slots) words += "; " + format_count(grid.slots - seen) + " more do not fit";
  write_within(drawing, words, {plot.x, area.y + 15}, plot.width, 10.5f, Weight::Regular,
               Ink::Text2);
}

}  // namespace

OrderGrid order_grid(const Program& program) {
  const std::vector<std::int32_t> end = Slotter(program).run();
  OrderGrid grid;
  for (std::uint32_t s = 0; s < program.streams.size(); ++s) {
    const Stream& stream = program.streams[s];
    if (!stream.compute) continue;
    const auto row = static_cast<std::uint32_t>(grid.streams.size());
    grid.streams.push_back(s);
    for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
      const std::int32_t slots = slots_of(program.task(InstructionId{i}));
      if (slots == 0) continue;
      grid.cells.push_back({InstructionId{i}, row, end[i] - slots, slots});
      grid.slots = std::max(grid.slots, end[i]);
    }
  }
  return grid;
}

Action action_of(const Program& program, const OrderCell& cell) {
  const Instruction& instruction = program.instructions[cell.instruction.value];
  const Task& task = program.task(instruction);
  return {task.phase, task.stage, instruction.microbatch, instruction.wave, instruction.weights};
}

Rect cell_rect(const OrderGrid& grid, const OrderCell& cell, const Rect& area,
               const ViewState& state) {
  const Geometry g = geometry(area, grid);
  return cell.slot < g.seen ? rect_of(g, cell, area, state) : Rect{};
}

const OrderCell* cell_behind(const OrderGrid& grid, std::uint32_t row, float x, InstructionId moved,
                             const Rect& area, const ViewState& state) {
  const Geometry g = geometry(area, grid);
  for (const OrderCell& cell : grid.cells) {
    if (cell.row != row || cell.instruction == moved) continue;
    const Rect rect = rect_of(g, cell, area, state);
    if (rect.x + rect.width / 2 > x) return &cell;
  }
  return nullptr;
}

void draw_order(Drawing& drawing, const Rect& area, const Program& program, const OrderGrid& grid,
                const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Geometry g = geometry(area, grid);
  const auto& [plot, slot, seen] = g;
  draw_order_words(drawing, area, plot, grid, seen);
  for (std::uint32_t row = 0; row < grid.streams.size(); ++row) {
    const float top = top_of(row, area, state);
    if (top < area.y + kOrderTop - kOrderRow || top > area.bottom()) continue;
    write(drawing, row_name(program, grid.streams[row]), {area.x + 10, top + kOrderCell / 2}, 11,
          Weight::Medium, Ink::Text);
    hatch(drawing, {plot.x, top, slot * static_cast<float>(seen), kOrderCell}, Pattern::Idle);
  }
  const ClipScope rows(drawing, {plot.x, area.y + kOrderTop - 3,
                                 slot * static_cast<float>(seen) + 1, area.height - kOrderTop + 3});
  for (const OrderCell& cell : grid.cells) {
    if (cell.slot >= seen) continue;
    const Rect rect = rect_of(g, cell, area, state);
    if (rect.y < area.y + kOrderTop - kOrderRow || rect.y > area.bottom()) continue;
    draw_order_cell(drawing, program, cell, rect, state);
  }
}

Hover describe_order(const Program& program, const OrderGrid& grid, Item item) {
  const auto found = std::find_if(grid.cells.begin(), grid.cells.end(), [&](const OrderCell& cell) {
    return cell.instruction.value == item.tag;
  });
  if (item.kind != ItemKind::Cell || found == grid.cells.end()) return {};
  Hover hover{describe(program, found->instruction),
              row_name(program, grid.streams[found->row]),
              "slot " + format_count(found->slot),
              {}};
  hover.lines.push_back(found->slots == 1 ? "takes one slot"
                                          : "takes " + std::to_string(found->slots) + " slots");
  hover.lines.push_back("made by " +
                        std::string(program.name(program.task(found->instruction).pass)));
  return hover;
}

}  // namespace trainyard
