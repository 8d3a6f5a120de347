#include "visualizers/chart/legend.h"

#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kSign = 9, kToWords = 15, kBetweenEntries = 14, kLegendPitch = 15;

void draw_entry(Drawing& drawing, Point left, const LegendEntry& entry, const LegendText& text) {
  entry.sign(drawing, {left.x + kSign / 2, left.y});
  write(drawing, entry.words, {left.x + kToWords, left.y}, text.size, Weight::Medium, text.ink);
}

Rect sign_square(Point middle) {
  return {middle.x - kSign / 2, middle.y - kSign / 2, kSign, kSign};
}

}  // namespace

LegendSign box_sign(Ink ink, Item item) {
  return [=](Drawing& drawing, Point middle) {
    box(drawing, sign_square(middle), {.ink = ink, .item = item});
  };
}

LegendSign idle_sign() {
  return [](Drawing& drawing, Point middle) {
    outline(drawing, sign_square(middle), {.ink = Ink::BorderStrong});
    hatch(drawing, sign_square(middle), Pattern::Idle);
  };
}

LegendSign line_sign(Style style) {
  return [=](Drawing& drawing, Point middle) {
    line(drawing, {middle.x - 6, middle.y}, {middle.x + 6, middle.y}, style);
  };
}

float draw_legend_before(Drawing& drawing, Point right, const std::vector<LegendEntry>& entries,
                         float least, LegendText text) {
  float x = right.x;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const float left = x - kToWords - text_width(entry->words, text.size);
    if (left < least) break;
    draw_entry(drawing, {left, right.y}, *entry, text);
    x = left - kBetweenEntries;
  }
  return x;
}

float draw_legend_after(Drawing& drawing, Point left, float most,
                        const std::vector<LegendEntry>& entries, LegendText text) {
  for (const LegendEntry& entry : entries) {
    const float width = kToWords + text_width(entry.words, text.size);
    if (left.x + width > most) break;
    draw_entry(drawing, left, entry, text);
    left.x += width + kBetweenEntries;
  }
  return left.x;
}

float draw_legend_below(Drawing& drawing, Point first, const std::vector<LegendEntry>& entries,
                        float bottom) {
  float y = first.y;
  for (const LegendEntry& entry : entries) {
    if (y > bottom) break;
    draw_entry(drawing, {first.x - kSign / 2, y}, entry, {.size = 10});
    y += kLegendPitch;
  }
  return y;
}

}  // namespace trainyard
