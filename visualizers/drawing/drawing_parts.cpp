#include "visualizers/drawing/drawing_parts.h"

#include <utility>
#include <vector>

#include "visualizers/drawing/in_parallel.h"

namespace trainyard {

void draw_in_parallel(Drawing& drawing, std::size_t count,
                      const std::function<void(Drawing&, std::size_t)>& draw) {
  std::vector<Drawing> parts(count, part_of(drawing));
  in_parallel(count, [&](std::size_t i) { draw(parts[i], i); });
  append(drawing, std::move(parts));
}

}  // namespace trainyard
