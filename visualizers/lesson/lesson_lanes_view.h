// The lanes of a schedule large enough for the last row of a room: boxes with their letters, idle
// hatched, a ruler in units of one forward.
#pragma once

#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

struct LessonLanes {
  struct Box {
    double from = 0, to = 0;  // in units
    std::string label;        // "F0"
    Ink ink = Ink::Forward;
  };
  struct Row {
    std::string name;  // "Stage 0"
    std::vector<Box> boxes;
  };
  std::string title, words;  // words: beside the title, smaller
  std::vector<Row> rows;
  double end = 1;  // units
};

/// px at which rows are comfortable.
float lanes_height(const LessonLanes&, float large = 1);
/// Items: Span, tag row * 65536 + box; Idle, tag row.
void draw_lesson_lanes(Drawing&, const Rect& area, const LessonLanes&, float large = 1);

}  // namespace trainyard
