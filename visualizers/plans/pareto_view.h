// The Pareto view: what each plan of a search costs on two axes. The front as a stair with numbers,
// plans that another beats as dots, plans that do not fit hollow behind the capacity's line. A plan
// that is known only by its lower bounds is a corner, open towards where it can lie; thousands of
// dots become a density, the front never.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "visualizers/drawing/drawing.h"
#include "visualizers/plans/pareto_axes.h"
#include "visualizers/plans/pareto_model.h"

namespace trainyard {

/// Dots beyond so many are drawn as a density.
inline constexpr std::size_t kMostParetoDots = 2500;

/// Items: Dot, tag the point; Cell, tag the cell of a density; Capacity. `limit` names the model's
/// capacity at its line.
void draw_pareto(Drawing&, const Rect& area, const ParetoModel&, const ParetoState&,
                 std::string_view limit = "capacity");
/// The point of an item: its own, or of a cell the one that is best on y; nothing for other items.
std::optional<std::size_t> point_of(const ParetoModel&, const Rect& area, const ParetoState&, Item);
/// The points of a cell.
std::vector<std::size_t> points_of_cell(const ParetoModel&, const Rect& area, const ParetoState&,
                                        Item);
inline constexpr Size kParetoSize{1100, 640};

}  // namespace trainyard
