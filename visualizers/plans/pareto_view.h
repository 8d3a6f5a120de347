// The Pareto view: what each plan of a search costs on two axes. The front as a stair with numbers,
// plans that another beats as dots, plans that do not fit hollow behind the capacity's line. What
// is known only by a bound is drawn lighter; thousands of dots become a density, the front never.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "visualizers/drawing/drawing.h"
#include "visualizers/plans/pareto_model.h"

namespace trainyard {

/// One axis of the plot: values between low and high, evenly or by their logarithm.
struct ParetoScale {
  double low = 0, high = 1;
  bool logarithmic = false;
  double share(double value) const;     // 0 at low, 1 at high; beyond them outside [0, 1]
  double value_at(double share) const;  // the inverse
};

struct ParetoPlot {
  Rect rect;
  ParetoScale x, y;
  Point at(double x_value, double y_value) const;
  double x_value(float px) const;
  double y_value(float px) const;
};
/// Where the plot lies in the area, and what part of the axes it shows: all of the front and what
/// is near it.
ParetoPlot pareto_plot(const ParetoModel&, const Rect& area, const ParetoState&);

/// Dots beyond so many are drawn as a density.
inline constexpr std::size_t kMostParetoDots = 2500;

/// Items: Dot, tag the point; Cell, tag the cell of a density; Capacity.
void draw_pareto(Drawing&, const Rect& area, const ParetoModel&, const ParetoState&);
/// The point of an item: its own, or of a cell the one that is best on y; nothing for other items.
std::optional<std::size_t> point_of(const ParetoModel&, const Rect& area, const ParetoState&, Item);
/// The points of a cell.
std::vector<std::size_t> points_of_cell(const ParetoModel&, const Rect& area, const ParetoState&,
                                        Item);
/// The rectangle between two corners in the axes' values.
ParetoBrush brush_between(const ParetoPlot&, Point, Point);

inline constexpr Size kParetoSize{1100, 640};

}  // namespace trainyard
