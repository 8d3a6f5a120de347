#include "visualizers/schedule/order_view.h"
#include "visualizers/chart/time_plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "tests/support/non_empty.h"
#include "tests/visualizers/labels.h"
#include "tests/visualizers/small_experiment.h"

namespace trainyard {
namespace {

using namespace testing_experiment;

// A row of the grid as text: F and B with their microbatch, a dot for an empty slot.
std::string row_text(const Program& program, const OrderGrid& grid, std::uint32_t row) {
  std::string text;
  std::int32_t slot = 0;
  for (const OrderCell& cell : grid.cells) {
    if (cell.row != row) continue;
    for (; slot < cell.slot; ++slot) text += ". ";
    const Instruction& instruction = program.instructions[cell.instruction.value];
    text += letter(program.task(instruction).phase) + std::to_string(instruction.microbatch) + " ";
    slot = cell.slot + cell.slots;
  }
  return text;
}

TEST(OrderView, GridOf1F1BIsTheOneOfThePaper) {
  const Program p = program({3, 3});
  const OrderGrid grid = order_grid(p);
  EXPECT_EQ(row_text(p, grid, 0), "F0 F1 F2 . . . . B0 . B1 . B2 U0 ");
  EXPECT_EQ(row_text(p, grid, 1), ". F0 F1 . . B0 F2 B1 . B2 U0 ");
  EXPECT_EQ(row_text(p, grid, 2), ". . F0 B0 F1 B1 F2 B2 U0 ");
}

TEST(OrderView, SlotsAreTheFormula) {
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 16; ++m)
      EXPECT_EQ(order_grid(program({p, m})).slots, 3 * (m + p - 1) + 1) << p << " " << m;
}

TEST(OrderView, EveryActionIsACell) {
  const ExperimentPtr e = experiment();
  const OrderGrid grid = order_grid(e->program);
  Drawing drawing({1082, 120});
  draw_order(drawing, {0, 0, 1082, 120}, e->program, grid, {});
  const auto cells =
      std::count_if(drawing.marks.begin(), drawing.marks.end(),
                    [](const Mark& mark) { return mark.style.item.kind == ItemKind::Cell; });
  EXPECT_EQ(static_cast<std::size_t>(cells), grid.cells.size());
  EXPECT_EQ(grid.cells.size(), 2u * (2 * 4 + 1));
}

TEST(OrderView, ACellIsDroppedBeforeTheFirstWhoseMiddleIsBehindIt) {
  const Program p = program({2, 4});
  const OrderGrid grid = order_grid(p);
  const Rect area{0, 0, 800, 200};
  const auto name = [&](const OrderCell* cell) {
    return cell == nullptr ? std::string("end") : to_text(action_of(p, *cell));
  };
  const OrderCell& first = grid.cells.front();  // 0F0
  const Rect rect = cell_rect(grid, first, area, {});
  EXPECT_EQ(name(cell_behind(grid, 0, rect.x, {}, area, {})), "0F0");
  EXPECT_EQ(name(cell_behind(grid, 0, rect.x + rect.width, {}, area, {})), "0F1");
  EXPECT_EQ(name(cell_behind(grid, 0, rect.x, first.instruction, area, {})), "0F1");
  EXPECT_EQ(name(cell_behind(grid, 0, 800, {}, area, {})), "end");
  for (const OrderCell& cell : testing::non_empty(grid.cells)) {
    const Rect here = cell_rect(grid, cell, area, {});
    EXPECT_EQ(cell_behind(grid, cell.row, here.x + here.width / 2 - 1, {}, area, {}), &cell);
  }
}

// Of a wide grid as many slots are in sight as can be told apart, and panning reaches all of them.
TEST(OrderView, EverySlotCanBeReachedByPanning) {
  const Program p = program({2, 1000});
  OrderGrid grid = order_grid(p);
  grid.end = Instant{grid.slots * 1'000'000LL};
  const Rect area{0, 0, 700, 90};
  std::set<std::uint32_t> seen;
  ViewState state;
  for (;;) {
    const Viewport now = order_viewport(grid, area, state);
    for (const OrderCell& cell : grid.cells)
      if (cell_rect(grid, cell, area, state).width > 0) seen.insert(cell.instruction.value);
    if (now.to >= grid.end) break;
    state.shown = TimeRange{now.to, now.to + (now.to - now.from)};
    ASSERT_GT(order_viewport(grid, area, state).from, now.from);
  }
  EXPECT_EQ(seen.size(), grid.cells.size());
}

// Rows never lie on the words above them, however far they are scrolled.
TEST(OrderView, RowsStayBelowTheWords) {
  const Program p = program({40, 2});
  const OrderGrid grid = order_grid(p);
  for (const float scroll : {0.f, 11.f, 333.f, 1e6f}) {
    ViewState state;
    state.scroll = scroll;
    Drawing drawing({700, 200});
    draw_order(drawing, {0, 0, 700, 200}, p, grid, state);
    EXPECT_EQ(testing::label_faults(drawing), std::vector<std::string>{}) << scroll;
    for (const Mark& mark : testing::non_empty(drawing.marks))
      if (mark.style.item.kind == ItemKind::Cell) {
        EXPECT_GE(intersect(mark.rect, drawing.clips[mark.clip]).y, 27.f);
      }
  }
}

TEST(OrderView, WhatDoesNotFitIsCounted) {
  const Program p = program({1, 1000});
  Drawing drawing({kGutter + kPlotMargin + 400, 60});
  draw_order(drawing, {0, 0, drawing.size.width, 60}, p, order_grid(p), {});
  EXPECT_LT(drawing.marks.size(), 400u);
  const OrderGrid grid = order_grid(p);
  Drawing wide({kGutter + kPlotMargin + 1000, 60});
  draw_order(wide, {0, 0, wide.size.width, 60}, p, grid, {});
  EXPECT_NE(wide.labels[1].text.find("slots 0 to 249 of 3\u2009001 slots"), std::string::npos);
}

TEST(OrderView, ProgramThatWaitsForItselfIsRefused) {
  Program p = program({1, 2});
  p.instructions[0].first_after = static_cast<std::uint32_t>(p.after.size());
  p.instructions[0].afters = 1;
  p.after.push_back(InstructionId{1});
  EXPECT_THROW(order_grid(p), Error);
}

TEST(OrderView, HoverNamesTheAction) {
  const Program p = program({2, 4});
  const Hover hover =
      describe_order(p, order_grid(p), {ItemKind::Cell, find(p, 1, kBackward, 2).value});
  EXPECT_EQ(hover.title, "stage 1 B2");
  EXPECT_EQ(hover.where, "Stage 1");
  EXPECT_EQ(hover.lines[0], "takes 2 slots");
  EXPECT_EQ(hover.lines[1], "made by 1f1b");
}

}  // namespace
}  // namespace trainyard
