// The roofline: FLOP/s against FLOP per byte on logarithmic axes, with the roofs of device and
// links and a dot for each kind of work, as large as its share of the busy time. Links are read on
// the upper axis, in FLOP per byte sent.
#pragma once

#include "core/result/roofline_points.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// Logarithmic axes over a rectangle.
struct LogPlot {
  Rect plot;
  double x_low = 1, x_high = 10, y_low = 1, y_high = 10;
  float x(double intensity) const;
  float y(double flops_per_second) const;
};
LogPlot roofline_plot(const Roofline&, const Rect& area);

/// Items: Dot, tag the point_tag(), or the traffic_tag() of what crosses links.
void draw_roofline(Drawing&, const Rect& area, const Roofline&, const ViewState&);
inline constexpr std::uint64_t kTrafficTag = std::uint64_t{1} << 32;  // and above: links
/// The same for the same work in every plan, so that what is selected stays so when times change:
/// made of its name, kind, pass and whether it is done again; of the group's name.
std::uint64_t point_tag(const RooflinePoint&);
std::uint64_t traffic_tag(const LinkPoint&);
Hover describe_roofline(const Roofline&, Item);

/// Kinds of work, most time first, then what crosses links.
DataTable roofline_table(const Roofline&);

template <>
Roofline make_model(const ViewData&);

extern const View kRooflineView;

}  // namespace trainyard
