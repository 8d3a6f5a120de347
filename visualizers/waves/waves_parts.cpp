#include "visualizers/waves/waves_parts.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace trainyard {
std::string two_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::int64_t capacity_of(const WavesModel& model) {
  return model.experiment->result.capacity.value;
}

float x_at(const Rect& slider, double share) {
  return slider.x + slider.width * static_cast<float>(share);
}

void draw_limit(Drawing& drawing, const Rect& plot, float y, const std::string& words, Ink ink,
                float dash) {
  line(drawing, {plot.x, y}, {plot.right(), y},
       {.ink = ink,
        .stroke = 1.2f,
        .dash_on = dash,
        .dash_off = 3,
        .item = {ItemKind::Capacity, 0}});
  write(drawing, words, {plot.right() - 6, y - 8}, 10.5f, Weight::Medium, ink, Align::Right);
}

void draw_through(Drawing& drawing, const Rect& plot, const std::vector<float>& ys, float thickness,
                  int dash, const Style& style) {
  std::vector<Column> list(ys.size());
  for (std::size_t i = 0; i < ys.size(); ++i) {
    if (dash > 0 && (static_cast<int>(i) / dash) % 2 == 1) continue;
    const float before = i > 0 ? ys[i - 1] : ys[i];
    list[i] = {std::min(ys[i], before) - thickness / 2, std::max(ys[i], before) + thickness / 2};
  }
  columns(drawing, plot, list, style);
}

}  // namespace trainyard
