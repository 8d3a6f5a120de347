// What axes have in common: which values get a tick, how they are written, and how a tick is drawn.
#pragma once

#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// The smallest of 1, 2 and 5 times a power of ten that is not below `least`, which is above 0.
double round_step(double least);
/// The multiples of a round step within [low, high], about `most` of them.
std::vector<double> round_values(double low, double high, int most);
/// One tick of a logarithmic axis.
struct LogTick {
  double value = 0;
  int digit = 1;  // the value is this many times a power of ten
};
/// The ticks at 1 to 9 times each power of ten within [low, high].
std::vector<LogTick> log_ticks(double low, double high);

/// The number with at most six digits and without zeros at its end, as in "0.25" and "12".
std::string digits_text(double value);

struct TickText {
  float size = 10;
  Ink ink = Ink::Text2;
};
/// Draws a line from the top of the plot to its bottom, and the label below it.
void draw_x_tick(Drawing&, const Rect& plot, float x, const std::string& label, TickText = {});
/// Draws a line across the plot, and the label at the left of it.
void draw_y_tick(Drawing&, const Rect& plot, float y, const std::string& label, TickText = {});

}  // namespace trainyard
