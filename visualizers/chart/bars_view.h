// Bars of stacked parts, a row each, on one axis of one unit; and marks where somebody expected an
// end. Histograms of answers are drawn by the same axis rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct BarsModel {
  struct Part {
    std::string name;
    Ink ink = Ink::Forward;
    bool idle = false;  // hatched instead of filled
  };
  struct Row {
    std::string label;
    std::vector<double> values;  // one a part, >= 0, in the unit
    bool hidden = false;         // only its place is shown
  };
  struct Mark {
    std::size_t row = 0;
    double value = 0;    // in the unit
    std::string words;   // "your guess 22 %"
    bool truth = false;  // else a person's
  };
  std::string title, unit;
  std::vector<Part> parts;
  std::vector<Row> rows;
  std::vector<Mark> marks;
  std::uint64_t first_item = 0;  // is added to the tags of its items
};

/// px that all rows take, with text `large` times its size.
float bars_height(const BarsModel&, float large = 1);
/// Items: Other, tag first_item + row * 64 + part.
void draw_bars(Drawing&, const Rect& area, const BarsModel&, float large = 1);

/// Says of such an item which part it is and how long; empty for others.
Hover describe_bars(const BarsModel&, Item);
/// Says for people who cannot see the bars how long each part of each row is.
std::string bars_words(const BarsModel&);

/// How many answers fell where: columns, the truth as a line.
struct HistogramModel {
  std::string title, unit;
  double low = 0, high = 1;  // of the axis, in the unit
  std::vector<int> bins;
  double truth = 0;
  std::string words;  // below: "12 of 28 right, median 22 %"
};
void draw_histogram(Drawing&, const Rect& area, const HistogramModel&, float large = 1);

}  // namespace trainyard
