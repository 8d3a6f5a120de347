// Drawing what falls into parts that do not know of each other, on all processors.
#pragma once

#include <functional>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// Calls draw(part, 0) ... draw(part, count - 1), several at a time, each with a part_of() of its
/// own, and appends the parts in that order: the same marks as one after the other. Blocks.
void draw_in_parallel(Drawing&, std::size_t count,
                      const std::function<void(Drawing&, std::size_t)>& draw);

}  // namespace trainyard
