// The plot of the Pareto view and its axes: which values it shows, and where.
#pragma once

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

/// The rectangle between two corners in the axes' values.
ParetoBrush brush_between(const ParetoPlot&, Point, Point);

/// px between the view's area and its plot.
struct ParetoMargins {
  float left = 62, right = 16, top = 34, bottom = 40;
};
inline constexpr ParetoMargins kParetoMargins;

/// Grid, tick labels and titles, around the plot in the view's area.
void draw_pareto_axes(Drawing&, const Rect& area, const ParetoPlot&, const ParetoState&);

}  // namespace trainyard
