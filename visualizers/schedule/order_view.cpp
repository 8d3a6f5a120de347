#include "visualizers/schedule/order_view.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kOrderRow = 22, kTallestOrderRow = 44;  // px from one row to the next
constexpr float kOrderGap = 4;                          // px of it below a cell
constexpr float kOrderTop = 30;
constexpr float kNarrowestSlot = 4, kWidestSlot = 26;  // px

// Which slots of a grid are in sight, and where.
struct Geometry {
  Rect plot;                         // of the rows that are in sight
  float slot = 1;                    // width in px
  std::int32_t first = 0, seen = 0;  // slots
  float top = 0, row = 0, cell = 0;  // of the first row; px from row to row, and of a cell

  bool shows(const OrderCell& c) const { return c.slot + c.slots > first && c.slot < first + seen; }
  bool shows(float y) const { return y + cell > plot.y && y < plot.bottom(); }
  float top_of(std::uint32_t r) const { return top + row * static_cast<float>(r); }
  Rect rect_of(const OrderCell& c) const {
    return {plot.x + slot * static_cast<float>(c.slot - first), top_of(c.row),
            slot * static_cast<float>(c.slots), cell};
  }
};

// As many of the slots that the state shows as are wide enough to be told apart.
Geometry geometry(const Rect& area, const OrderGrid& grid, const ViewState& state) {
  Geometry g;
  g.plot = plot_of(
      {area.x, area.y + kOrderTop - 3, area.width, std::max(0.f, area.height - kOrderTop + 3)});
  std::int32_t wanted = std::max(1, grid.slots);
  if (state.shown && grid.end > Instant{}) {
    const double slots = grid.slots, end = static_cast<double>(grid.end.count());
    const auto slot_of = [&](Instant t) {
      return std::clamp(slots * static_cast<double>(t.count()) / end, 0.0, slots);
    };
    g.first = static_cast<std::int32_t>(slot_of(state.shown->from));
    wanted = std::max(1, static_cast<std::int32_t>(
                             std::lround(slot_of(state.shown->to) - slot_of(state.shown->from))));
  }
  g.slot = std::clamp(g.plot.width / static_cast<float>(wanted), kNarrowestSlot, kWidestSlot);
  g.seen = std::min(wanted, static_cast<std::int32_t>(g.plot.width / g.slot));
  g.first = std::max(0, std::min(g.first, grid.slots - g.seen));
  const auto rows = static_cast<float>(std::max<std::size_t>(1, grid.streams.size()));
  g.row = std::floor(std::clamp((area.height - kOrderTop) / rows, kOrderRow, kTallestOrderRow));
  g.cell = g.row - kOrderGap;
  g.top = area.y + kOrderTop - std::min(state.scroll, order_overhang(grid, area));
  return g;
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

void draw_order_words(Drawing& drawing, const Rect& area, const Geometry& g,
                      const OrderGrid& grid) {
  write(drawing, "Order", {area.x + 10, area.y + 15}, 11, Weight::SemiBold, Ink::Text);
  std::string words = format_count(grid.slots) + " slots (F = 1, B = 2, split B and W = 1 each)";
  if (g.seen < grid.slots)
    words = "slots " + format_count(g.first) + " to " + format_count(g.first + g.seen - 1) +
            " of " + words;
  write_within(drawing, words, {g.plot.x, area.y + 15}, g.plot.width, 10.5f, Weight::Regular,
               Ink::Text2);
}

}  // namespace

float order_overhang(const OrderGrid& grid, const Rect& area) {
  return std::max(0.f,
                  kOrderTop + kOrderRow * static_cast<float>(grid.streams.size()) - area.height);
}

Viewport order_viewport(const OrderGrid& grid, const Rect& area, const ViewState& state) {
  const Geometry g = geometry(area, grid, state);
  const auto at = [&](std::int32_t slot) {
    return Instant{grid.end.count() * slot / std::max(1, grid.slots)};
  };
  return {g.plot, at(g.first), std::max(at(g.first + g.seen), at(g.first) + Duration{1}),
          state.scroll};
}

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
  const Geometry g = geometry(area, grid, state);
  return g.shows(cell) ? g.rect_of(cell) : Rect{};
}

const OrderCell* cell_behind(const OrderGrid& grid, std::uint32_t row, float x, InstructionId moved,
                             const Rect& area, const ViewState& state) {
  const Geometry g = geometry(area, grid, state);
  for (const OrderCell& cell : grid.cells) {
    if (cell.row != row || cell.instruction == moved) continue;
    const Rect rect = g.rect_of(cell);
    if (rect.x + rect.width / 2 > x) return &cell;
  }
  return nullptr;
}

void draw_order(Drawing& drawing, const Rect& area, const Program& program, const OrderGrid& grid,
                const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Geometry g = geometry(area, grid, state);
  draw_order_words(drawing, area, g, grid);
  const ClipScope below_words(drawing, {area.x, g.plot.y, area.width, g.plot.height});
  const float width = g.slot * static_cast<float>(g.seen);
  for (std::uint32_t row = 0; row < grid.streams.size(); ++row) {
    const float top = g.top_of(row);
    if (!g.shows(top)) continue;
    write(drawing, row_name(program, grid.streams[row]), {area.x + 10, top + g.cell / 2}, 11,
          Weight::Medium, Ink::Text);
    hatch(drawing, {g.plot.x, top, width, g.cell}, Pattern::Idle);
  }
  const ClipScope rows(drawing, {g.plot.x, g.plot.y, width + 1, g.plot.height});
  for (const OrderCell& cell : grid.cells)
    if (g.shows(cell) && g.shows(g.top_of(cell.row)))
      draw_order_cell(drawing, program, cell, g.rect_of(cell), state);
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
