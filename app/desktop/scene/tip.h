// What is under the pointer, as the text that appears beside it.
#pragma once

#include <QString>

#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// Rich text of at most five lines.
QString tip_html(const Hover&);

}  // namespace trainyard
