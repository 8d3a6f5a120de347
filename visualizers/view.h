// What a view is, and the list of views by the names that the command line and the window's tabs
// use. Each is a pure function from what is known of an experiment and what a person looks at to a
// Drawing; files, windows and tests read the same data.
#pragma once

#include <span>
#include <string_view>

#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

class ViewData;  // view_data.h

/// A view is a constant in its folder and an entry of views().
struct View {
  std::string_view name;     // "timeline"
  std::string_view title;    // "Timeline"
  std::string_view summary;  // one line
  Size size;                 // a good one for a file; any other works
  std::string_view tab;      // its title among the window's tabs of a result; empty: it has none
  Drawing (*draw)(const ViewData&, Size, const ViewState&);
  /// What to say of the thing at a point of that drawing; an empty title when there is nothing.
  Hover (*describe)(const ViewData&, const Drawing&, Point, const ViewState&);
  /// The rows behind the picture, for who would rather read them. Outlives the data.
  DataTable (*table)(const ViewData&, const ViewState&);
};
/// In the order of the window's tabs.
std::span<const View> views();
/// Throws Error{InvalidInput} with the nearest name.
const View& view(std::string_view name);

}  // namespace trainyard
