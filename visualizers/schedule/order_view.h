// The order grid of the papers: a row a device, a column a slot, each cell an action on one
// microbatch. Slots come from the program alone (a forward takes one, a backward two), so the grid
// shows the schedule's shape and not its times.
#pragma once

#include <vector>

#include "core/program/program.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

/// One instruction of a compute stream.
struct OrderCell {
  InstructionId instruction;
  std::uint32_t row = 0;             // stream among compute streams, in the program's order
  std::int32_t slot = 0, slots = 1;  // [slot, slot + slots)
  friend bool operator==(const OrderCell&, const OrderCell&) = default;
};

struct OrderGrid {
  std::vector<OrderCell> cells;        // by row, then slot
  std::vector<std::uint32_t> streams;  // the program's stream of each row
  std::int32_t slots = 0;              // one past the last
  Instant end{};  // of the run: the state's shown part of it is the same part of the slots
};

/// Each instruction as early as its stream, what it waits for and its peer allow, where a whole
/// backward takes two slots, any other compute one and all else none. Throws Error{Internal} on a
/// program that waits for itself.
OrderGrid order_grid(const Program&);

/// The action that a cell stands for.
Action action_of(const Program&, const OrderCell&);
/// The slots in sight as a part of the run, across their plot: at most those that the state shows,
/// and as few as it takes to tell them apart.
Viewport order_viewport(const OrderGrid&, const Rect& area, const ViewState&);
/// px of the rows that have no room in the area.
float order_overhang(const OrderGrid&, const Rect& area);
/// Where draw_order() draws a cell; empty for one that is not in sight.
Rect cell_rect(const OrderGrid&, const OrderCell&, const Rect& area, const ViewState&);
/// The first cell of a row whose middle lies right of x, other than `moved`: what a cell dropped
/// there would stand before. Null behind the last.
const OrderCell* cell_behind(const OrderGrid&, std::uint32_t row, float x, InstructionId moved,
                             const Rect& area, const ViewState&);

/// Items: Cell, tag the instruction.
void draw_order(Drawing&, const Rect& area, const Program&, const OrderGrid&, const ViewState&);
Hover describe_order(const Program&, const OrderGrid&, Item);

/// Cells by row, then slot.
DataTable order_table(ExperimentPtr, const OrderGrid&);

template <>
OrderGrid make_model(const ViewData&);

extern const View kOrderView;

}  // namespace trainyard
