// What a view is, and the list of views by the names that the command line and the window's tabs
// use. Each is a pure function from what is known of an experiment and what a person looks at to a
// Drawing; files, windows and tests read the same data.
#pragma once

#include <span>
#include <string_view>

#include "core/result/experiment.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

class CostModel;
class ViewData;  // view_data.h, which reads every view's model: most need only hand it on

struct View {
  std::string_view name;     // "timeline"
  std::string_view title;    // of the tab: "Timeline"
  std::string_view summary;  // one line
  Size size;                 // a good one for a file; any other works
  Drawing (*draw)(const ViewData&, Size, const ViewState&);
  /// What to say of the thing at a point of that drawing; an empty title when there is nothing.
  Hover (*describe)(const ViewData&, const Drawing&, Point, const ViewState&);
  /// The rows behind the picture, for who would rather read them. Outlives the data.
  DataTable (*table)(const ViewData&, const ViewState&);
};
std::span<const View> views();
/// Throws Error{InvalidInput} with the nearest name.
const View& view(std::string_view name);

/// How the analyse view divides its height between timeline and memory.
struct AnalyseLayout {
  Rect timeline, memory;
};
AnalyseLayout analyse_layout(const ViewData&, Size);

}  // namespace trainyard
