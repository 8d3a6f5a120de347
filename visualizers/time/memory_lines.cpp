#include "visualizers/time/memory_lines.h"

#include <algorithm>

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {

void draw_limits(Drawing& drawing, const Rect& plot, const ByteScale& scale,
                 const std::vector<Limit>& limits) {
  constexpr float kSize = 10.5f, kLine = 14, kGap = 12;
  std::vector<Rect> taken;
  for (const Limit& limit : limits) {
    const float y = scale.y(limit.bytes);
    if (y < plot.y || y > plot.bottom()) continue;
    line(drawing, {plot.x, y}, {plot.right(), y},
         {.ink = limit.ink,
          .stroke = 1.2f,
          .dash_on = limit.dash,
          .dash_off = 3,
          .item = limit.item});
    const float width = text_width(limit.words, kSize);
    Rect words{plot.right() - 6 - width, std::max(plot.y, y - 8 - kLine / 2), width, kLine};
    for (const Rect& other : taken)
      if (words.y < other.bottom() && other.y < words.bottom())
        words.x = std::min(words.x, other.x - kGap - width);
    if (words.x < plot.x) continue;
    taken.push_back(words);
    fill(drawing, {words.x - 3, words.y, width + 6, kLine}, {.ink = Ink::Canvas, .alpha = 0.75f});
    write(drawing, limit.words, {words.x, words.y + kLine / 2}, kSize, Weight::Medium, limit.ink);
  }
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
