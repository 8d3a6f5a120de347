#include "visualizers/chart/agreement_plot.h"

#include <algorithm>
#include <cmath>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

void AgreementPlot::take(double value) {
  if (value <= 0) return;
  low = std::min(low, value), high = std::max(high, value);
}

float AgreementPlot::share(double value) const {
  return static_cast<float>(std::log(std::max(value, low * 1e-3) / low) / std::log(high / low));
}

AgreementPlot agreement_plot_in(const Rect& area) {
  constexpr float kLabels = 62, kRightOfPlot = 10;
  return {{area.x + kLabels, area.y + kAgreementTop,
           std::max(1.f, area.width - kLabels - kRightOfPlot),
           std::max(1.f, area.height - kAgreementTop - kAgreementBottom)}};
}

void draw_agreement_axes(Drawing& drawing, const AgreementPlot& plot, double unit,
                         const std::function<std::string(double)>& text,
                         const std::string& predicted) {
  const Rect& r = plot.rect;
  const bool close = plot.high < 50 * plot.low;  // then more of the lines have labels
  for (const auto& [tick, digit] : log_ticks(plot.low / unit, plot.high / unit)) {
    const float x = plot.x(tick * unit), y = plot.y(tick * unit);
    const Style style{.ink = Ink::Grid, .alpha = digit == 1 ? 1.f : 0.45f};
    line(drawing, {x, r.y}, {x, r.bottom()}, style);
    line(drawing, {r.x, y}, {r.right(), y}, style);
    if (digit != 1 && !(close && (digit == 2 || digit == 5))) continue;
    const std::string words = text(tick * unit);
    write(drawing, words, {x, r.bottom() + 11}, 10, Weight::Medium, Ink::Text2, Align::Center);
    write(drawing, words, {r.x - 6, y}, 10, Weight::Medium, Ink::Text2, Align::Right);
  }
  outline(drawing, r, {.ink = Ink::Border});
  write(drawing, predicted, {r.x, r.y - 10}, 10.5f, Weight::SemiBold, Ink::Text2);
  write(drawing, "measured", {r.right(), r.bottom() + 26}, 10.5f, Weight::Medium, Ink::Text2,
        Align::Right);
}

void draw_agreement_lines(Drawing& drawing, const AgreementPlot& plot,
                          const std::vector<double>& factors) {
  const auto along = [&](double factor, const Style& style) {
    line(drawing, {plot.x(plot.low), plot.y(plot.low * factor)},
         {plot.x(plot.high), plot.y(plot.high * factor)}, style);
  };
  along(1, {.ink = Ink::Axis, .stroke = 1.4f});
  for (const double factor : factors)
    along(factor, {.ink = Ink::Axis, .dash_on = 4, .dash_off = 3});
}

}  // namespace trainyard
