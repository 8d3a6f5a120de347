// The timeline over memory, on one time axis.
#pragma once

#include "visualizers/view.h"

namespace trainyard {

/// How the view divides its height between timeline and memory.
struct AnalyseLayout {
  Rect timeline, memory;
};
AnalyseLayout analyse_layout(const ViewData&, Size);

extern const View kAnalyseView;

}  // namespace trainyard
