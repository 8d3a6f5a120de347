// The timeline: an overview of the whole run, a ruler, and for each pipeline rank a compute lane
// with its communication lane beneath. Boxes are coloured by operation; idle is hatched; what is
// too narrow to be seen alone is folded.
#pragma once

#include "visualizers/chart/table.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/timeline/timeline_layout.h"
#include "visualizers/view.h"

namespace trainyard {

/// Items: Span, tag the instruction; Fold, tag the instruction of its first span; Idle, tag the
/// instruction that ends the wait, or tail_tag() for what follows a rank's last; Lane, tag the
/// rank; Other, tag mark_tag() of a mark, or of a rule that fired (rule_lane.h).
void draw_timeline(Drawing&, const Rect& area, const TimelineModel&, const ViewState&);

/// Instructions by stream; with a range, those that touch it.
DataTable timeline_table(ExperimentPtr, const ViewState&);

/// What to say of an item of draw_timeline. The state must be the one it was drawn with.
Hover describe_timeline(const TimelineModel&, const Rect& area, const ViewState&, Item);

/// "on the critical path, step 12 of 140".
std::string path_text(const TimelineModel&, InstructionId);

extern const View kTimelineView;

}  // namespace trainyard
