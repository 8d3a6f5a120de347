// What is under the pointer, as the text that appears beside it.
#pragma once

#include <QString>

#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// Rich text of the hover's first lines, the long ones broken, and below them what keys and clicks
/// do here; empty: nothing.
QString tip_html(const Hover&, const QString& keys = {});

}  // namespace trainyard
