#include "visualizers/chart/section_bar.h"

#include <algorithm>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {

float draw_section_bar(Drawing& drawing, const Rect& bar, const std::string& title, Item item) {
  fill(drawing, bar, {.ink = Ink::Header, .item = item});
  write(drawing, title, {bar.x + 10, bar.y + bar.height / 2}, 11, Weight::SemiBold, Ink::Text);
  return std::max(bar.x + kGutter, bar.x + 26 + text_width(title, 11, Weight::SemiBold));
}

void write_in_section_bar(Drawing& drawing, const Rect& bar, float left, float right,
                          const std::string& words, Ink ink) {
  write_within(drawing, words, {left, bar.y + bar.height / 2}, right - left, 10.5f, Weight::Regular,
               ink);
}

float end_section_bar(Drawing& drawing, const Rect& bar, const std::string& words, Ink ink) {
  const float right = bar.right() - kPlotMargin;
  write(drawing, words, {right, bar.y + bar.height / 2}, 10.5f, Weight::Medium, ink, Align::Right);
  return right - text_width(words, 10.5f) - 12;
}

}  // namespace trainyard
