#include "visualizers/chart/free_labels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

bool meet(const Rect& a, const Rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

Rect bounds(Point left, float width) { return {left.x - 2, left.y - 6, width + 4, 12}; }

}  // namespace

void FreeLabels::keep_line_free(Point from, Point to) {
  const float length = std::hypot(to.x - from.x, to.y - from.y);
  const int steps = std::min(400, static_cast<int>(length / 6) + 1);
  for (int i = 0; i <= steps; ++i) {
    const float t = static_cast<float>(i) / static_cast<float>(steps);
    lines_.push_back({from.x + t * (to.x - from.x) - 2, from.y + t * (to.y - from.y) - 2, 4, 4});
  }
}

void FreeLabels::beside(const std::string& words, Point at, float reach, Ink ink) {
  const float width = text_width(words, 10), gap = reach + 4;
  for (const float away : {0.f, 14.f, 28.f, 42.f, 60.f, 80.f, 100.f, 120.f}) {
    const std::array<Point, 6> places = {{{at.x + gap, at.y + away},
                                          {at.x - gap - width, at.y + away},
                                          {at.x - width / 2, at.y + gap + 5 + away},
                                          {at.x - width / 2, at.y - gap - 5 - away},
                                          {at.x + gap, at.y - away},
                                          {at.x - gap - width, at.y - away}}};
    for (const Point& place : places)
      if (!crosses_line(place, width) && put(words, place, width, ink)) {
        if (away > 0) lead(at, place, width);
        return;
      }
  }
}

bool FreeLabels::put(const std::string& words, Point left, float width, Ink ink) {
  const Rect rect = bounds(left, width);
  if (rect.x < plot_.x || rect.right() > plot_.right() || rect.y < plot_.y ||
      rect.bottom() > plot_.bottom())
    return false;
  if (std::any_of(taken_.begin(), taken_.end(),
                  [&](const Rect& other) { return meet(rect, other); }))
    return false;
  taken_.push_back(rect);
  write(drawing_, words, left, 10, Weight::Medium, ink);
  return true;
}

bool FreeLabels::crosses_line(Point left, float width) const {
  const Rect rect = bounds(left, width);
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const Rect& other) { return meet(rect, other); });
}

void FreeLabels::lead(Point at, Point label, float width) {
  const float x = label.x > at.x           ? label.x - 3
                  : label.x + width < at.x ? label.x + width + 3
                                           : at.x;
  line(drawing_, at, {x, label.y}, {.ink = Ink::Text3, .alpha = 0.6f});
}

}  // namespace trainyard
