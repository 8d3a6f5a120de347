#include "visualizers/run/run_ratios.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/methods/parallel/adasum.h"
#include "core/model/layer_name.h"
#include "core/training/adasum.h"
#include "core/training/optimizers/layer_ratios.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/heat.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kLeastCell = 3, kSwatch = 3, kGaugeGap = 4;

std::int64_t combined_of(const RunModel& model) {
  const Scenario& s = model.predicted->workload.scenario;
  return combined_updates(s.plan, s.cluster);
}

// The gauge of a run, from the lowest ratio that a layer has where its replicas agree.
struct RatioGauge {
  const std::vector<std::vector<double>>& steps;  // ratios by step, then layer
  bool sends = false;
  double least = 0;
  std::size_t first = 0;  // updates before the first of the steps, in a run that was resumed

  std::size_t all_layers() const { return steps.back().size(); }
  Ink ink(double ratio) const {
    const double share = (ratio - least) / (1 - least);
    return heat(std::clamp(static_cast<int>(share * kHeatSteps), 0, kHeatSteps - 1));
  }
};

RatioGauge gauge_of(const RunModel& model) {
  const bool sends = model.orthogonality.empty();
  RatioGauge gauge{sends ? model.energy_sent : model.orthogonality, sends};
  if (!sends)
    gauge.least = 1.0 / static_cast<double>(std::max<std::int64_t>(2, combined_of(model)));
  gauge.first = model.losses.size() - std::min(model.losses.size(), gauge.steps.size());
  return gauge;
}

// Returns the layers that have a ratio; of more than the height has room for, every so manieth.
std::vector<std::size_t> shown_layers(const RatioGauge& gauge, float height) {
  std::vector<std::size_t> all, shown;
  for (std::size_t l = 0; l < gauge.all_layers(); ++l)
    if (std::any_of(gauge.steps.begin(), gauge.steps.end(), [l](const std::vector<double>& step) {
          return l < step.size() && step[l] > 0;
        }))
      all.push_back(l);
  const auto most = static_cast<std::size_t>(std::max(1.f, height / kLeastCell));
  for (std::size_t i = 0; i < all.size(); i += (all.size() + most - 1) / most)
    shown.push_back(all[i]);
  return shown;
}

void draw_gauge_names(Drawing& drawing, const Rect& area, const RatioGauge& gauge,
                      std::int64_t combined) {
  const float x = area.x + 10;
  float y = area.y + 10;
  const auto add = [&](const std::string& words, float size, Weight weight, Ink ink, float below) {
    write(drawing, words, {x, y}, size, weight, ink);
    y += below;
  };
  add(gauge.sends ? "Energy sent" : "Orthogonality", 11, Weight::SemiBold, Ink::Text, 18);
  add(fmt::format("{:.3g}", mean_ratio(gauge.steps.back())), 13, Weight::SemiBold, Ink::Text, 16);
  add(gauge.sends ? "of gradients, by layer" : "of updates, by layer", 10, Weight::Regular,
      Ink::Text3, 16);
  if (const double last = last_ratio(gauge.steps);
      !gauge.sends && last > 0 && y + 22 < area.bottom()) {
    const BatchHeadroom headroom = batch_headroom(last, combined);
    add(fmt::format("{} count as {:.3g},", combined, headroom.independent), 10, Weight::Regular,
        Ink::Text2, 13);
    add(fmt::format("{:.3g} times a doubling", headroom.per_doubling), 10, Weight::Regular,
        Ink::Text2, 16);
  }
  if (y + 6 > area.bottom()) return;
  const std::string low = fmt::format("{:.3g}", gauge.least);
  add(low, 10, Weight::Regular, Ink::Text3, 0);
  const float left = x + text_width(low, 10) + 5;
  for (int i = 0; i < kHeatSteps; ++i)
    fill(drawing, {left + kSwatch * static_cast<float>(i), y - 4, kSwatch, 8}, {.ink = heat(i)});
  write(drawing, "1", {left + kSwatch * kHeatSteps + 5, y}, 10, Weight::Regular, Ink::Text3);
}

// The horizontal extent of a step: as wide as all others of the run that is to be.
struct StepScale {
  Rect plot;
  float steps = 1;
  float x(std::size_t step) const { return plot.x + plot.width * static_cast<float>(step) / steps; }
};

// Several steps share a cell where they are narrower than kLeastCell; it shows the last of them.
void draw_layer_rows(Drawing& drawing, const StepScale& scale, const RatioGauge& gauge) {
  const Rect& plot = scale.plot;
  const std::vector<std::size_t> layers = shown_layers(gauge, plot.height);
  const auto apart =
      static_cast<std::size_t>(std::max(1.f, std::ceil(kLeastCell * scale.steps / plot.width)));
  const float row = plot.height / static_cast<float>(std::max<std::size_t>(1, layers.size()));
  const std::size_t first = drawing.tiles.size();
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (std::size_t from = 0; from < gauge.steps.size(); from += apart) {
      const std::size_t end = std::min(from + apart, gauge.steps.size()), layer = layers[i];
      const std::vector<double>& step = gauge.steps[end - 1];
      if (layer >= step.size() || step[layer] <= 0) continue;
      drawing.tiles.push_back({{scale.x(gauge.first + from), plot.y + row * static_cast<float>(i),
                                scale.x(gauge.first + end) - scale.x(gauge.first + from), row},
                               static_cast<std::uint32_t>((end - 1) * gauge.all_layers() + layer),
                               ItemKind::Cell,
                               gauge.ink(step[layer]),
                               Tile::Kind::Fill});
    }
  strip(drawing, first, plot);
}

void draw_mean(Drawing& drawing, const StepScale& scale, const RatioGauge& gauge) {
  const Rect& plot = scale.plot;
  const auto y_of = [&](double ratio) {
    return plot.bottom() - 6 -
           static_cast<float>(std::clamp(ratio, 0.0, 1.0)) * std::max(1.f, plot.height - 12);
  };
  for (const double ratio : {1.0, gauge.least})
    line(drawing, {plot.x, y_of(ratio)}, {plot.right(), y_of(ratio)},
         {.ink = Ink::Axis, .dash_on = 3, .dash_off = 3});
  // At most one point a pixel, in the middle of its step.
  const auto apart = static_cast<std::size_t>(std::max(1.f, scale.steps / plot.width));
  std::vector<Point> points;
  for (std::size_t i = 0; i < gauge.steps.size(); i += apart)
    if (const double ratio = mean_ratio(gauge.steps[i]); ratio > 0)
      points.push_back(
          {(scale.x(gauge.first + i) + scale.x(gauge.first + i + 1)) / 2, y_of(ratio)});
  const Style style{.ink = Ink::Accent, .stroke = 1.5f};
  if (points.size() > 1) polyline(drawing, points, style);
  if (points.size() == 1) disc(drawing, points.front(), 2, style);
  // Over the line, on a ground of their own.
  const std::string low = gauge.sends ? "0 nothing" : fmt::format("{:.3g} equal", gauge.least);
  for (const auto& [ratio, words] :
       {std::pair{1.0, std::string(gauge.sends ? "1 all" : "1 orthogonal")},
        std::pair{gauge.least, low}}) {
    const float y = y_of(ratio) + (ratio == 1 ? 8.f : -7.f), width = text_width(words, 10) + 4;
    fill(drawing, {plot.right() - width - 2, y - 6, width, 12}, {.ink = Ink::Panel});
    write(drawing, words, {plot.right() - 4, y}, 10, Weight::Regular, Ink::Text3, Align::Right);
  }
}

}  // namespace

bool has_ratios(const RunModel& model) {
  return !model.orthogonality.empty() || !model.energy_sent.empty();
}

void draw_run_ratios(Drawing& drawing, const Rect& area, const RunModel& model) {
  Rect mean = plot_of(area), rows = mean;
  mean.height = std::floor(mean.height * 0.45f);
  rows.y = mean.bottom() + kGaugeGap, rows.height -= mean.height + kGaugeGap;
  const RatioGauge gauge = gauge_of(model);
  fill(drawing, mean, {.ink = Ink::Panel});
  fill(drawing, rows, {.ink = Ink::Panel});
  const ClipScope clip(drawing, area);
  draw_gauge_names(drawing, area, gauge, combined_of(model));
  const auto steps = static_cast<float>(std::max<std::int64_t>(
      model.steps, static_cast<std::int64_t>(gauge.first + gauge.steps.size())));
  draw_mean(drawing, {mean, steps}, gauge);
  draw_layer_rows(drawing, {rows, steps}, gauge);
}

Hover describe_ratio(const RunModel& model, Item item) {
  if (item.kind != ItemKind::Cell || !model.predicted || !has_ratios(model)) return {};
  const RatioGauge gauge = gauge_of(model);
  const std::size_t step = item.tag / gauge.all_layers(), layer = item.tag % gauge.all_layers();
  if (step >= gauge.steps.size() || layer >= gauge.steps[step].size()) return {};
  const double ratio = gauge.steps[step][layer];
  Hover hover{layer_name(model.predicted->workload.scenario.model, layer),
              fmt::format("update {}", gauge.first + step + 1),
              fmt::format("{} {:.3g}", gauge.sends ? "energy sent" : "orthogonality", ratio),
              {}};
  if (!gauge.sends) hover.lines.push_back(headroom_sentence(ratio, combined_of(model)));
  return hover;
}

double ratio_of_update(const RunModel& model, std::size_t update) {
  if (!has_ratios(model)) return 0;
  const RatioGauge gauge = gauge_of(model);
  const std::size_t step = update - std::min(update, gauge.first);
  return update < gauge.first || step >= gauge.steps.size() ? 0 : mean_ratio(gauge.steps[step]);
}

std::string exchange_words(const RunModel& model) {
  if (const double last = last_ratio(model.orthogonality); last > 0)
    return headroom_sentence(last, combined_of(model));
  const std::optional<GradientTraffic>& traffic = model.predicted->result.gradient_traffic;
  return traffic ? traffic->sentence : "";
}

}  // namespace trainyard
