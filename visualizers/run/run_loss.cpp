#include "visualizers/run/run_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "visualizers/chart/time_plot.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

void draw_run_loss(Drawing& drawing, const Rect& area, const RunModel& model) {
  const Rect plot = plot_of(area);
  fill(drawing, plot, {.ink = Ink::Panel});
  write(drawing, "Loss", {area.x + 10, area.y + 10}, 11, Weight::SemiBold, Ink::Text);
  if (model.losses.empty()) {
    write(drawing, "no update yet", {area.x + 10, area.y + 26}, 10, Weight::Regular, Ink::Text3);
    return;
  }
  write(drawing, loss_text(model.losses.back()), {area.x + 10, area.y + 28}, 13, Weight::SemiBold,
        Ink::Text);
  double low = INFINITY, high = -INFINITY;
  for (const double loss : model.losses)
    if (std::isfinite(loss)) low = std::min(low, loss), high = std::max(high, loss);
  if (!(high >= low)) {
    write(drawing, "not finite", {area.x + 10, area.y + 44}, 10, Weight::Medium, Ink::Error);
    return;
  }
  const double span = high > low ? high - low : 1;
  const auto y_of = [&](double loss) {
    return plot.bottom() - 6 -
           static_cast<float>((loss - low) / span) * std::max(1.f, plot.height - 12);
  };
  const auto steps = static_cast<double>(std::max<std::int64_t>(
      2, std::max<std::int64_t>(model.steps, static_cast<std::int64_t>(model.losses.size()))));
  // At most two points a pixel: the lowest and the highest of what falls into it.
  const auto n = model.losses.size();
  const std::size_t bins = std::max<std::size_t>(1, static_cast<std::size_t>(plot.width));
  std::vector<Point> points;
  for (std::size_t b = 0; b < std::min(bins, n); ++b) {
    const std::size_t from = b * n / std::min(bins, n), to = (b + 1) * n / std::min(bins, n);
    std::size_t least = from, most = from;
    for (std::size_t i = from; i < to; ++i) {
      if (model.losses[i] < model.losses[least]) least = i;
      if (model.losses[i] > model.losses[most]) most = i;
    }
    for (const std::size_t i : {std::min(least, most), std::max(least, most)}) {
      if (!std::isfinite(model.losses[i])) continue;
      const Point p{plot.x + plot.width * static_cast<float>(static_cast<double>(i) / (steps - 1)),
                    y_of(model.losses[i])};
      if (points.empty() || !(points.back() == p)) points.push_back(p);
    }
  }
  const ClipScope clip(drawing, area);
  if (points.size() > 1) polyline(drawing, points, {.ink = Ink::Accent, .stroke = 1.5f});
  if (!points.empty())
    disc(drawing, points.back(), 3,
         {.ink = Ink::Accent, .item = {ItemKind::Dot, static_cast<std::uint64_t>(n - 1)}});
  write(drawing, loss_text(high), {plot.right() - 4, plot.y + 8}, 10, Weight::Regular, Ink::Text3,
        Align::Right);
  write(drawing, loss_text(low), {plot.x + 4, plot.bottom() - 8}, 10, Weight::Regular, Ink::Text3);
}

}  // namespace trainyard
