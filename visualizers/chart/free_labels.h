// Labels that find a free place in a plot among what is already there, or are left out.
#pragma once

#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

class FreeLabels {
 public:
  FreeLabels(Drawing& drawing, const Rect& plot) : drawing_(drawing), plot_(plot) {}

  void keep_free(const Rect& rect) { taken_.push_back(rect); }
  /// Keeps a straight line free of what beside() places.
  void keep_line_free(Point from, Point to);
  /// Tries right, left, below and above the square of `reach` around the point, nearest first.
  void beside(const std::string& words, Point at, float reach, Ink);
  /// At exactly this place, or not at all. Returns whether it was free.
  bool put(const std::string& words, Point left, float width, Ink);
  /// The same, but also not across a line.
  bool put_off_lines(const std::string& words, Point left, float width, Ink ink) {
    return !crosses_line(left, width) && put(words, left, width, ink);
  }

 private:
  bool crosses_line(Point left, float width) const;
  void lead(Point at, Point label, float width);

  Drawing& drawing_;
  Rect plot_;
  std::vector<Rect> taken_;
  std::vector<Rect> lines_;  // small squares along lines
};

}  // namespace trainyard
