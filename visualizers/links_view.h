// Measured bus bandwidth over message size on logarithmic axes, and the line
// that was fitted to it.
#pragma once

#include "core/io/nccl_tests_import.h"
#include "visualizers/view_state.h"

namespace trainyard {

/// Items: Dot, tag the row of the residuals. There is at least one.
void draw_links(Drawing&, const Rect& area, const LinkFit&);
Hover describe_links(const LinkFit&, Item);
std::string spell_links(const LinkFit&);

}  // namespace trainyard
