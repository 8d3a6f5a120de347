// Lines over a picture of memory: across it at a number of bytes, and through heights of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualizers/time/memory_wave.h"

namespace trainyard {

/// A dashed line across a plot, with words over it.
struct Limit {
  std::int64_t bytes = 0;
  std::string words;
  Ink ink = Ink::Text;
  float dash = 6;
  Item item{ItemKind::Capacity, 0};
};
/// Draws the lines, each with its words at the right end, or left of those of a line too near.
void draw_limits(Drawing&, const Rect& plot, const ByteScale&, const std::vector<Limit>&);

/// A line through one height a column, broken into dashes of that many columns where asked for.
void draw_through(Drawing&, const Rect& plot, const std::vector<float>& ys, float thickness,
                  int dash, const Style&);

}  // namespace trainyard
