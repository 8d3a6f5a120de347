// Measured bus bandwidth over message size on logarithmic axes, and the line
// that was fitted to it.
#pragma once

#include "core/io/traces/nccl_tests_import.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// Items: Dot, tag the row of the residuals. There is at least one.
void draw_links(Drawing&, const Rect& area, const LinkFit&);
Hover describe_links(const LinkFit&, Item);
std::string spell_links(const LinkFit&);

}  // namespace trainyard
