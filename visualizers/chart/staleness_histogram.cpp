#include "visualizers/chart/staleness_histogram.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kHistogramTitle = 22, kRangeWords = 16, kMargin = 12;

std::string range_words(const StaleBar& bar) {
  return bar.from == bar.to ? fmt::format("{}", bar.from)
                            : fmt::format("{} to {}", bar.from, bar.to);
}

}  // namespace

std::string bar_words(const StaleBar& bar) {
  return range_words(bar) + ": " + readable_share(bar.share) + " of updates";
}

void draw_staleness(Drawing& drawing, const Rect& area, const std::string& title,
                    const StalenessBars& found, std::int64_t expected) {
  write_within(drawing, title, {area.x + kMargin, area.y + 12}, area.width - 2 * kMargin, 11,
               Weight::SemiBold, Ink::Text);
  if (found.bars.empty()) return;
  const Rect plot{area.x + kMargin, area.y + kHistogramTitle, area.width - 2 * kMargin,
                  std::max(10.f, area.height - kHistogramTitle - kRangeWords - 4)};
  fill(drawing, plot, {.ink = Ink::Panel});
  double most = 0;
  for (const StaleBar& bar : found.bars) most = std::max(most, bar.share);
  const float pitch = plot.width / static_cast<float>(found.bars.size());
  float words_until = plot.x;
  for (std::size_t b = 0; b < found.bars.size(); ++b) {
    const StaleBar& bar = found.bars[b];
    const float x = plot.x + pitch * static_cast<float>(b),
                height = (plot.height - 16) * static_cast<float>(bar.share / most);
    const bool holds = static_cast<std::int64_t>(bar.from) <= expected &&
                       expected <= static_cast<std::int64_t>(bar.to);
    fill(drawing, {x + 1, plot.bottom() - height, std::max(1.f, pitch - 2), height},
         {.ink = holds ? Ink::Accent : Ink::Communication, .item = {ItemKind::Dot, b}});
    const std::string words = range_words(bar);
    const float width = text_width(words, 10), middle = x + pitch / 2;
    if (middle - width / 2 < words_until) continue;
    write(drawing, words, {middle, plot.bottom() + kRangeWords / 2}, 10, Weight::Regular,
          Ink::Text2, Align::Center);
    words_until = middle + width / 2 + 6;
  }
  write_within(drawing,
               fmt::format("mean {:.3g}, expected {}{}", found.mean, expected,
                           found.older > 0 ? "; " + readable_share(found.older) + " are older"
                                           : std::string()),
               {plot.x + 6, plot.y + 8}, plot.width - 12, 10, Weight::Regular, Ink::Text2);
}

}  // namespace trainyard
