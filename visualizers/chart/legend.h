// A legend says what the inks and signs of a picture mean. Each of its entries is a sign with words
// beside it.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// Draws the sign of an entry around the middle of its place, which is 9 px wide.
using LegendSign = std::function<void(Drawing&, Point middle)>;

struct LegendEntry {
  std::string words;
  LegendSign sign;
};

LegendSign box_sign(Ink, Item = {});
LegendSign idle_sign();
/// A short level line in the style of the lines that it explains.
LegendSign line_sign(Style);

struct LegendText {
  float size = 10.5f;
  Ink ink = Ink::Text2;
};

/// Draws the entries in a row that ends at `right`. Entries that would begin left of `least` are
/// left out, the first ones first. Returns where the row begins, with a gap before it.
float draw_legend_before(Drawing&, Point right, const std::vector<LegendEntry>&,
                         float least = std::numeric_limits<float>::lowest(), LegendText = {});
/// Draws the entries in a row that begins at `left`. Entries that would end right of `most` are
/// left out, the last ones first. Returns where a next entry would begin.
float draw_legend_after(Drawing&, Point left, float most, const std::vector<LegendEntry>&,
                        LegendText = {});
/// Draws one entry below the other, with the middle of the first sign at `first`. Returns the y of
/// a next entry.
float draw_legend_below(Drawing&, Point first, const std::vector<LegendEntry>&,
                        float bottom = std::numeric_limits<float>::max());

}  // namespace trainyard
