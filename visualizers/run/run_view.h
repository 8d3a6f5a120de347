// A training run beside its prediction: the losses so far, and for each pipeline rank the lane and
// the memory that were predicted, as ghosts, with what is measured over them; beside them the
// readings, below them what differs by cause. It draws a run that is under way, in which some
// instructions have not been measured yet, as well as one that is done.
#pragma once

#include <string>

#include "visualizers/chart/table.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

/// Where the parts lie within an area.
struct RunLayout {
  Rect header, loss, ruler, ranks, residuals;
  Rect side;                  // readings; empty where the area is narrow
  bool memory_aside = false;  // the table of memory stands there, beside no other
  float pitch = 0;            // of a rank: its two lanes and its memory
};
RunLayout run_layout(const RunModel&, const Rect& area);
/// px of ranks that the layout cannot show at once: how far they scroll.
float run_overhang(const RunModel&, const Rect& area);

void draw_run(Drawing&, const Rect& area, const RunModel&, const ViewState&);
/// Items: Span, tag the instruction; Wave, tag the rank; Peak, tag the rank, where its waves would
/// reach if they were aligned; Dot, tag the update; Cell, what replicas exchanged of a layer;
/// Cursor, how far the run has come (tag 0) and where its prediction ends (tag 1); Other, of the
/// panels beside and below.
Hover describe_run(const RunModel&, const Rect& area, const ViewState&, Item, Point);
/// The same in words, for who does not see it.
std::string spell_run(const RunModel&);

/// What differs from the prediction, by cause, and what is furthest from it, as far as a step was
/// measured; then losses by update.
DataTable run_table(const RunModel&);

}  // namespace trainyard
