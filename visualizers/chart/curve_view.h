// Curves of a unit over a knob's values: lines with points, the value that is set now, and marks
// where somebody expected a point.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct CurveModel {
  struct Line {
    std::string name;
    Ink ink = Ink::Forward;
    std::vector<double> values;  // one an x, in the unit; not finite: a gap
    bool dashed = false;
  };
  struct Mark {
    double x = 0, value = 0;
    std::string words;   // "your guess 22 %"
    bool truth = false;  // else a person's
  };
  std::string title, unit, x_label;
  bool log_x = false, log_y = false;
  std::vector<double> x;             // rising, at least two
  std::vector<std::string> x_names;  // one an x
  std::vector<Line> lines;
  std::optional<double> now;
  std::vector<Mark> marks;
  bool fitted = false;  // the axis of values spans those alone, and not zero too
};

/// Values of 0 or less have no place on a logarithmic axis and are left out. Items: Dot, tag
/// line * 4096 + point.
void draw_curve(Drawing&, const Rect& area, const CurveModel&, float large = 1);
/// Says of such an item where its point lies and how high, in words of `unit`; empty for others.
Hover describe_curve(const CurveModel&, Item, std::string_view unit = {});
/// Says for people who cannot see the curves where each begins, ends and lies lowest and highest.
std::string curve_words(const CurveModel&);

}  // namespace trainyard
