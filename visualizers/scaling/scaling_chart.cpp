#include "visualizers/scaling/scaling_chart.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kChartTitle = 22, kChartFoot = 34, kTickRoom = 74, kRightRoom = 16, kCross = 3.5f;

// Devices are placed by their logarithm.
struct ScalingPlot {
  Rect rect;
  double fewest = 1, most = 2;
  double low = 0, high = 1;
  bool logarithmic = false;

  float x(std::int64_t devices) const {
    const double share = std::log(static_cast<double>(devices) / fewest) / std::log(most / fewest);
    return rect.x + rect.width * static_cast<float>(share);
  }
  float y(double value) const {
    const double share =
        logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return rect.bottom() - rect.height * static_cast<float>(std::clamp(share, -4.0, 4.0));
  }
};

std::vector<const ScalingCurve*> both_curves(const ScalingStudy& study) {
  return {&study.weak, &study.strong};
}

// A point with its figure.
struct Placed {
  std::size_t index = 0;
  std::int64_t devices = 1;
  bool fits = false;
  Banded<double> value;
};

std::vector<Placed> placed(const ScalingStudy& study, const ScalingCurve& curve,
                           const ScalingChart& chart) {
  std::vector<Placed> found;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const ScalingPoint& point = curve.points[i];
    if (!point.result) continue;
    if (const auto value = chart.figure(study, *point.result); value && value->value > 0)
      found.push_back({i, point.devices, point.fits(), *value});
  }
  return found;
}

// The range that holds every value; bands that reach far beyond it are cut.
ScalingPlot scaling_plot(const ScalingStudy& study, const ScalingChart& chart, const Rect& area) {
  ScalingPlot plot;
  plot.rect = {area.x + kTickRoom, area.y + kChartTitle,
               std::max(1.f, area.width - kTickRoom - kRightRoom),
               std::max(1.f, area.height - kChartTitle - kChartFoot)};
  plot.logarithmic = chart.logarithmic;
  const std::vector<ScalingPoint>& points = study.strong.points;
  plot.fewest = static_cast<double>(points.front().devices);
  plot.most = std::max(static_cast<double>(points.back().devices), plot.fewest * 1.001);
  if (points.size() == 1) plot.fewest /= 2, plot.most *= 2;
  double low = 1e300, high = 0;
  for (const ScalingCurve* curve : both_curves(study))
    for (const Placed& one : placed(study, *curve, chart)) {
      low = std::min(low, std::max(one.value.low, one.value.value / 4));
      high = std::max(high, std::min(one.value.high, one.value.value * 4));
    }
  if (high <= 0) return plot;
  plot.low = chart.logarithmic ? low / 1.15 : 0;
  plot.high = high * (chart.logarithmic ? 1.15 : 1.05);
  return plot;
}

void draw_scaling_axes(Drawing& drawing, const ScalingPlot& plot, const ScalingStudy& study,
                       const ScalingChart& chart) {
  float free = 1e9f;
  const auto tick = [&](double value) {
    const float y = plot.y(value);
    if (free - y < 14 || y < plot.rect.y) return;
    draw_y_tick(drawing, plot.rect, y, chart.text(value));
    free = y;
  };
  if (plot.logarithmic) {
    const bool wide = plot.high / plot.low > 300;
    for (const LogTick& each : log_ticks(plot.low, plot.high))
      if (each.digit == 1 || (!wide && (each.digit == 2 || each.digit == 5))) tick(each.value);
  } else {
    for (const double value : round_values(plot.low, plot.high, 5)) tick(value);
  }
  float taken = plot.rect.x - 100;
  for (const ScalingPoint& point : study.strong.points) {
    const float x = plot.x(point.devices);
    const std::string words = format_count(point.devices);
    const float half = text_width(words, 10) / 2;
    line(drawing, {x, plot.rect.bottom()}, {x, plot.rect.bottom() + 4}, {.ink = Ink::Axis});
    if (x - half < taken) continue;
    const float middle = std::min(x, plot.rect.right() + kRightRoom - half - 1);
    write(drawing, words, {middle, plot.rect.bottom() + 12}, 10, Weight::Medium,
          point.devices == study.own ? Ink::Accent : Ink::Text2, Align::Center);
    taken = x + half + 6;
  }
  line(drawing, {plot.rect.x, plot.rect.bottom()}, {plot.rect.right(), plot.rect.bottom()},
       {.ink = Ink::Axis});
  const auto own = static_cast<double>(study.own);
  if (own >= plot.fewest && own <= plot.most)
    line(drawing, {plot.x(study.own), plot.rect.y}, {plot.x(study.own), plot.rect.bottom()},
         {.ink = Ink::Accent, .dash_on = 2, .dash_off = 3});
}

void draw_ideal(Drawing& drawing, const ScalingPlot& plot, const std::vector<Placed>& points,
                ScalingLaw law, const ScalingChart& chart) {
  const auto first =
      std::find_if(points.begin(), points.end(), [](const Placed& p) { return p.fits; });
  if (chart.ideal == nullptr || first == points.end()) return;
  const ClipScope clip(drawing, plot.rect);
  std::vector<Point> path;
  for (auto one = first; one != points.end(); ++one) {
    const double times = static_cast<double>(one->devices) / static_cast<double>(first->devices);
    path.push_back({plot.x(one->devices), plot.y(chart.ideal(law, first->value.value, times))});
  }
  if (path.size() > 1)
    polyline(drawing, path,
             {.ink = ink_of(law), .alpha = 0.8f, .stroke = 1, .dash_on = 4, .dash_off = 3});
}

void draw_points(Drawing& drawing, const ScalingPlot& plot, const ScalingCurve& curve,
                 const std::vector<Placed>& points, const ViewState& state) {
  const Ink ink = ink_of(curve.law);
  std::vector<Point> path;
  for (const Placed& one : points) path.push_back({plot.x(one.devices), plot.y(one.value.value)});
  {
    const ClipScope clip(drawing, plot.rect);
    for (std::size_t i = 1; i < points.size(); ++i) {
      const Placed &from = points[i - 1], &to = points[i];
      const float left = path[i - 1].x, right = path[i].x;
      polygon(drawing,
              {{left, plot.y(from.value.low)},
               {left, plot.y(from.value.high)},
               {right, plot.y(to.value.high)},
               {right, plot.y(to.value.low)}},
              {.ink = ink, .alpha = 0.14f});
    }
  }
  if (path.size() > 1) polyline(drawing, path, {.ink = ink, .stroke = 1.6f});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Item item = scaling_item(curve.law, points[i].index);
    points[i].fits ? draw_fitting(drawing, path[i], curve.law, item)
                   : draw_unfitting(drawing, path[i], curve.law, item);
    if (curve.pays == points[i].index) draw_pays(drawing, path[i]);
    if (state.selected == item) ring(drawing, path[i], 10, {.ink = Ink::Select, .stroke = 2});
  }
}

// Crosses of the weak law stand above those of the strong one.
void draw_crosses(Drawing& drawing, const ScalingPlot& plot, const ScalingCurve& curve) {
  const float y = plot.rect.bottom() - (curve.law == ScalingLaw::Strong ? 7.f : 17.f);
  for (std::size_t i = 0; i < curve.points.size(); ++i)
    if (!curve.points[i].result)
      draw_illegal(drawing, {plot.x(curve.points[i].devices), y}, ink_of(curve.law),
                   scaling_item(curve.law, i));
}

}  // namespace

Ink ink_of(ScalingLaw law) {
  return law == ScalingLaw::Strong ? Ink::WeightGradient : Ink::Backward;
}

void draw_fitting(Drawing& drawing, Point at, ScalingLaw law, Item item) {
  if (law == ScalingLaw::Strong)
    disc(drawing, at, 4, {.ink = ink_of(law), .item = item});
  else
    fill(drawing, {at.x - 3.5f, at.y - 3.5f, 7, 7}, {.ink = ink_of(law), .item = item});
}

void draw_unfitting(Drawing& drawing, Point at, ScalingLaw law, Item item) {
  disc(drawing, at, 5, {.ink = Ink::Canvas, .item = item});
  ring(drawing, at, 5, {.ink = Ink::Error, .stroke = 1.6f});
  disc(drawing, at, 1.8f, {.ink = ink_of(law)});
}

void draw_illegal(Drawing& drawing, Point at, Ink ink, Item item) {
  fill(drawing, {at.x - 5, at.y - 5, 10, 10}, {.ink = Ink::Canvas, .alpha = 0, .item = item});
  const Style style{.ink = ink, .stroke = 1.6f};
  line(drawing, {at.x - kCross, at.y - kCross}, {at.x + kCross, at.y + kCross}, style);
  line(drawing, {at.x - kCross, at.y + kCross}, {at.x + kCross, at.y - kCross}, style);
}

void draw_pays(Drawing& drawing, Point at) {
  ring(drawing, at, 7, {.ink = Ink::Text, .stroke = 1.4f});
}

void draw_scaling_chart(Drawing& drawing, const Rect& area, const ScalingStudy& study,
                        const ScalingChart& chart, const ViewState& state) {
  if (area.width < kTickRoom + 40 || area.height < kChartTitle + kChartFoot + 20) return;
  const ClipScope clip(drawing, area);
  write(drawing, chart.title, {area.x + 10, area.y + 10}, 11, Weight::SemiBold, Ink::Text);
  if (study.strong.points.empty()) return;
  const ScalingPlot plot = scaling_plot(study, chart, area);
  const bool any =
      !placed(study, study.strong, chart).empty() || !placed(study, study.weak, chart).empty();
  if (!any) {
    write_within(drawing, chart.missing, {area.x + 10, area.y + 34}, area.width - 20, 10.5f,
                 Weight::Regular, Ink::Text3);
    return;
  }
  draw_scaling_axes(drawing, plot, study, chart);
  write(drawing, "devices", {plot.rect.right(), plot.rect.bottom() + 25}, 10, Weight::Medium,
        Ink::Text3, Align::Right);
  for (const ScalingCurve* curve : both_curves(study)) {
    const std::vector<Placed> points = placed(study, *curve, chart);
    draw_ideal(drawing, plot, points, curve->law, chart);
    draw_points(drawing, plot, *curve, points, state);
    draw_crosses(drawing, plot, *curve);
  }
}

}  // namespace trainyard
