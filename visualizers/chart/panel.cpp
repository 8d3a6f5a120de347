#include "visualizers/chart/panel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {

float draw_panel_title(Drawing& drawing, const Rect& area, const std::string& title, float large,
                       float share) {
  const float left = area.x + kPanelPad, size = 12 * large;
  const std::string words =
      fit_text(title, share * area.width - 2 * kPanelPad, size, Weight::SemiBold);
  write(drawing, words, {left, area.y + kPanelHead * large / 2}, size, Weight::SemiBold, Ink::Text);
  return left + text_width(words, size, Weight::SemiBold);
}

std::string panel_number(double value, const std::string& unit) {
  if (!std::isfinite(value)) return "\u2013";
  char text[48];
  const double size = std::abs(value);
  if (unit == "%")
    std::snprintf(text, sizeof text, size >= 99.95 || value == std::round(value) ? "%.0f" : "%.1f",
                  value);
  else if (value == std::round(value) && size < 1e6)
    std::snprintf(text, sizeof text, "%.0f", value);
  else if (size >= 1e6 || size < 1e-3)
    std::snprintf(text, sizeof text, "%.1e", value);
  else
    std::snprintf(text, sizeof text, "%.*f",
                  std::max(0, 2 - static_cast<int>(std::floor(std::log10(size)))), value);
  std::string words = text;
  if (words[0] == '-') words = "\u2212" + words.substr(1);
  return unit.empty() ? words : words + " " + unit;
}

}  // namespace trainyard
