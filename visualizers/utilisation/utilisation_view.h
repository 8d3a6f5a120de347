// How busy the devices are over time: the share of each moment that a pipeline rank computes,
// stacked by what it computes, idle hatched; and above, of all ranks together, what of the peak
// they reach. Shares are exact: every pixel has all spans in it.
#pragma once

#include <vector>

#include "visualizers/chart/table.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// FLOPs of the spans of one compute row: entry i is of all before span i; one more at the end.
struct WorkDone {
  std::uint32_t row = 0;
  std::vector<double> hardware, model;
};

struct UtilisationModel {
  FlopsPerSecond peak{};                     // of one device
  std::vector<std::vector<WorkDone>> ranks;  // a rank's compute rows
};
/// Linear in the instructions.
UtilisationModel utilisation_model(const TimelineModel&);

/// What one rank does in [from, to).
struct BusyShare {
  BusyTimes share{};  // by category, as parts of 1e9 of the interval; their sum is busy()
  double busy = 0;    // of compute, [0, 1]
  double link = 0;    // of its busiest communication lane, [0, 1]
  Flops hardware{}, model{};
};
BusyShare busy_share(const TimelineModel&, const UtilisationModel&, std::size_t rank, Instant from,
                     Instant to);

struct UtilisationLayout {
  Rect ruler, header, all, rows;
  float pitch = 0;  // of a rank's row
  Viewport shown;
};
UtilisationLayout utilisation_layout(const TimelineModel&, const Rect& area, const ViewState&);

/// Items: Lane, tag the rank; Other: all ranks.
void draw_utilisation(Drawing&, const Rect& area, const TimelineModel&, const UtilisationModel&,
                      const ViewState&);
Hover describe_utilisation(const TimelineModel&, const UtilisationModel&, const Rect& area,
                           const ViewState&, Item, Point);
/// Lanes by rank, over the range or the whole run.
DataTable utilisation_table(const TimelineModel&, const UtilisationModel&, const ViewState&);

template <>
UtilisationModel make_model(const ViewData&);

extern const View kUtilisationView;

}  // namespace trainyard
