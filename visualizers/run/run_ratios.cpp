#include "visualizers/run/run_ratios.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/methods/parallel/adasum.h"
#include "core/training/adasum.h"
#include "core/training/layer_ratios.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostLayers = 64;  // of more, every so manieth has a line

std::int64_t combined_of(const RunModel& model) {
  const Scenario& s = model.predicted->workload.scenario;
  return combined_updates(s.plan, s.cluster);
}

}  // namespace

bool has_ratios(const RunModel& model) {
  return !model.orthogonality.empty() || !model.energy_sent.empty();
}

void draw_run_ratios(Drawing& drawing, const Rect& area, const RunModel& model) {
  const bool sends = model.orthogonality.empty();
  const Rect plot = plot_of(area);
  const std::vector<std::vector<double>>& steps = sends ? model.energy_sent : model.orthogonality;
  const double least =
      sends ? 0 : 1.0 / static_cast<double>(std::max<std::int64_t>(2, combined_of(model)));
  fill(drawing, plot, {.ink = Ink::Panel});
  write(drawing, sends ? "Energy sent" : "Orthogonality", {area.x + 10, area.y + 10}, 11,
        Weight::SemiBold, Ink::Text);
  write(drawing, fmt::format("{:.3g}", mean_ratio(steps.back())), {area.x + 10, area.y + 28}, 13,
        Weight::SemiBold, Ink::Text);
  write(drawing, sends ? "of gradients, by layer" : "of updates, by layer",
        {area.x + 10, area.y + 44}, 10, Weight::Regular, Ink::Text3);
  const auto y_of = [&](double ratio) {
    return plot.bottom() - 6 -
           static_cast<float>(std::clamp(ratio, 0.0, 1.0)) * std::max(1.f, plot.height - 12);
  };
  const ClipScope clip(drawing, area);
  for (const double ratio : {1.0, least}) {
    const float y = y_of(ratio);
    line(drawing, {plot.x, y}, {plot.right(), y}, {.ink = Ink::Axis, .dash_on = 3, .dash_off = 3});
  }
  const auto last = static_cast<double>(
      std::max<std::int64_t>({2, model.steps, static_cast<std::int64_t>(steps.size())}) - 1);
  // At most one point a pixel, of a step that is in it.
  const std::size_t apart =
      std::max<std::size_t>(1, steps.size() / static_cast<std::size_t>(std::max(1.f, plot.width)));
  const auto draw = [&](auto ratio_of, const Style& style) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < steps.size(); i += apart)
      if (const double ratio = ratio_of(steps[i]); ratio > 0)
        points.push_back(
            {plot.x + plot.width * static_cast<float>(static_cast<double>(i) / last), y_of(ratio)});
    if (points.size() > 1) polyline(drawing, points, style);
    if (points.size() == 1) disc(drawing, points.front(), 2, style);
  };
  const std::size_t layers = steps.back().size();
  for (std::size_t l = 0; layers > 1 && l < layers; l += 1 + layers / kMostLayers)
    draw([l](const std::vector<double>& step) { return l < step.size() ? step[l] : 0; },
         {.ink = Ink::Text3, .alpha = 0.5f});
  draw([](const std::vector<double>& step) { return mean_ratio(step); },
       {.ink = Ink::Accent, .stroke = 1.5f});
  // Over the lines, on a ground of their own.
  for (const auto& [ratio, words] :
       {std::pair{1.0, std::string(sends ? "1 all" : "1 orthogonal")},
        {least, sends ? "0 nothing" : fmt::format("{:.3g} equal", least)}}) {
    const float y = y_of(ratio) + (ratio == 1 ? 8.f : -7.f), width = text_width(words, 10) + 4;
    fill(drawing, {plot.right() - width - 2, y - 6, width, 12}, {.ink = Ink::Panel});
    write(drawing, words, {plot.right() - 4, y}, 10, Weight::Regular, Ink::Text3, Align::Right);
  }
}

std::string exchange_words(const RunModel& model) {
  if (const double last = last_ratio(model.orthogonality); last > 0)
    return headroom_sentence(last, combined_of(model));
  const std::optional<GradientTraffic>& traffic = model.predicted->result.gradient_traffic;
  return traffic ? traffic->sentence : "";
}

}  // namespace trainyard
