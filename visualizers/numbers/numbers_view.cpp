#include "visualizers/numbers/numbers_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units_text.h"
#include "visualizers/chart/axes.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"

namespace trainyard {
namespace {

constexpr float kNumbersWidth = 900, kExponentsHeight = 230, kSeriesHeight = 260;
constexpr float kGutter = 64, kTop = 58, kNumbersFoot = 40, kNumbersSide = 16;
constexpr int kEdge = 2;            // binades beside the numbers
constexpr int kMostTicks = 16;      // of exponents
constexpr double kLeastShare = -7;  // the axis begins at most at 10^-7 of the elements

// Where exponents and shares lie.
struct ExponentPlot {
  Rect rect;
  int first = 0, last = 0;  // exponents that have a place; zeros lie left of them
  double least = 0;         // log10 of the share at the bottom

  float pitch() const { return rect.width / static_cast<float>(last - first + 3); }
  float x(int exponent) const {
    return rect.x + pitch() * static_cast<float>(std::clamp(exponent, first, last + 1) - first + 2);
  }
  float y(double share) const {
    const double at = std::clamp(1 - std::log10(share) / least, 0.0, 1.0);
    return rect.bottom() - static_cast<float>(at) * rect.height;
  }
};

// The window is shown as far as it lies near the numbers.
ExponentPlot exponent_plot(const Rect& area, const ExponentHistogram& h, const NumberWindow& w) {
  ExponentPlot plot;
  plot.rect = {area.x + kGutter, area.y + kTop, area.width - kGutter - kNumbersSide,
               std::max(20.f, area.height - kTop - kNumbersFoot)};
  constexpr int kNear = 12;
  const int low = h.least().value_or(w.least), high = h.most().value_or(w.most);
  plot.first = std::min(low, std::max(w.least, low - kNear)) - kEdge;
  plot.last = std::max(high, std::min(w.most, high + kNear)) + kEdge;
  std::int64_t fewest = h.elements();
  for (int e = low; e <= high; ++e)
    if (h.count(e) > 0) fewest = std::min(fewest, h.count(e));
  const double share = static_cast<double>(fewest) / static_cast<double>(h.elements());
  plot.least = std::clamp(std::floor(std::log10(share)), kLeastShare, -1.0);
  return plot;
}

void draw_window(Drawing& drawing, const ExponentPlot& plot, const NumberWindow& w) {
  const auto part = [&](int from, int until, Ink ink, const char* words) {
    const float left = plot.x(from), right = plot.x(until);
    if (right <= left) return;
    fill(drawing, {left, plot.rect.y, right - left, plot.rect.height}, {.ink = ink});
    write_within(drawing, words, {left + 4, plot.rect.y + 8}, right - left - 6, 10, Weight::Regular,
                 Ink::Text2);
  };
  part(w.least, w.least_normal, Ink::WarnBackground, "subnormal");
  part(w.least_normal, w.most + 1, Ink::OkBackground, "normal");
  for (const int edge : {w.least, w.most + 1}) {
    const float x = plot.x(edge);
    if (edge <= plot.first || edge > plot.last) continue;
    line(drawing, {x, plot.rect.y}, {x, plot.rect.bottom()},
         {.ink = Ink::Text2, .dash_on = 3, .dash_off = 3});
  }
}

void draw_exponent_axes(Drawing& drawing, const ExponentPlot& plot) {
  for (int power = 0; power >= static_cast<int>(plot.least); --power)
    draw_y_tick(drawing, plot.rect, plot.y(std::pow(10, power)),
                power == 0 ? "100 %" : digits_text(std::pow(10, power + 2)) + " %");
  const int step = static_cast<int>(
      std::ceil(round_step(std::max(1.0, double(plot.last - plot.first) / kMostTicks))));
  for (int e = plot.first; e <= plot.last; ++e)
    if (e % step == 0)
      draw_x_tick(drawing, plot.rect, plot.x(e) + plot.pitch() / 2, fmt::format("{}", e));
  write(drawing, "binary exponent", {plot.rect.right(), plot.rect.bottom() + 28}, 10,
        Weight::Regular, Ink::Text3, Align::Right);
}

std::string window_words(const NumberLook& look, NumberClass of) {
  const auto c = static_cast<std::size_t>(of);
  const NumberWindow& w = look.windows[c];
  const WindowCounts& n = look.counts[c];
  std::string words =
      fmt::format("{}: {} zero, {} under it, {} subnormal, {} over it", w.format,
                  readable_share(n.share(n.zeros)), readable_share(n.share(n.under)),
                  readable_share(n.share(n.subnormal)), readable_share(n.share(n.over)));
  if (n.not_finite > 0)
    words += fmt::format(", {} not finite", readable_share(n.share(n.not_finite)));
  if (w.scaled) words += "; with a scale that sets its end on the largest";
  if (of == NumberClass::Gradients && look.loss_scale > 0)
    words += fmt::format("; moved by the loss scale of {}", look.loss_scale);
  return words;
}

CurveModel cancelled_curve(const NumberRecord& record) {
  CurveModel curve;
  curve.title = "Updates that rounding cancels";
  curve.unit = "%";
  curve.x_label = "step";
  CurveModel::Line line{"share of updates", Ink::Optimizer, {}};
  for (const NumberLook& look : record.looks()) {
    curve.x.push_back(static_cast<double>(look.step));
    curve.x_names.push_back(std::to_string(look.step));
    line.values.push_back(look.updates.asked > 0 ? 100 * look.updates.share()
                                                 : std::numeric_limits<double>::quiet_NaN());
  }
  curve.lines = {std::move(line)};
  return curve;
}

// A staircase: each scale holds until the step before the next one.
CurveModel loss_scale_curve(const NumberRecord& record) {
  CurveModel curve;
  curve.title = "Loss scale";
  curve.x_label = "step";
  curve.log_y = true;
  CurveModel::Line line{"loss scale", Ink::Backward, {}};
  const auto add = [&](std::int64_t step, double scale) {
    if (!curve.x.empty() && static_cast<double>(step) <= curve.x.back()) return;
    curve.x.push_back(static_cast<double>(step));
    curve.x_names.push_back(std::to_string(step));
    line.values.push_back(scale);
  };
  const std::vector<LossScaleChange>& scales = record.loss_scales();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    add(scales[i].step, scales[i].scale);
    add(i + 1 < scales.size() ? scales[i + 1].step - 1 : record.last_step(), scales[i].scale);
  }
  curve.lines = {std::move(line)};
  return curve;
}

bool is_series(NumbersPicture picture) { return picture >= NumbersPicture::Cancelled; }

CurveModel series_curve(const NumberRecord& record, NumbersPicture picture) {
  return picture == NumbersPicture::Cancelled ? cancelled_curve(record) : loss_scale_curve(record);
}

}  // namespace

void draw_exponents(Drawing& drawing, const Rect& area, const NumberRecord& record,
                    NumberClass of) {
  const auto c = static_cast<std::size_t>(of);
  const ExponentHistogram& h = record.histograms()[c];
  if (record.shown() == nullptr || h.elements() == 0) return;
  const NumberLook& look = *record.shown();
  write_within(drawing, fmt::format("Exponents of {} at step {}", to_string(of), look.step),
               {area.x + kNumbersSide, area.y + 18}, area.width - 2 * kNumbersSide, 13,
               Weight::SemiBold, Ink::Text);
  write_within(drawing, window_words(look, of), {area.x + kNumbersSide, area.y + 38},
               area.width - 2 * kNumbersSide, 11, Weight::Regular, Ink::Text2);
  const ExponentPlot plot = exponent_plot(area, h, look.windows[c]);
  fill(drawing, plot.rect, {.ink = Ink::Panel});
  draw_window(drawing, plot, look.windows[c]);
  draw_exponent_axes(drawing, plot);
  const auto bar = [&](float x, std::int64_t count, Ink ink) {
    if (count == 0) return;
    const float top = plot.y(static_cast<double>(count) / static_cast<double>(h.elements()));
    fill(drawing, {x + 1, top, std::max(1.f, plot.pitch() - 2), plot.rect.bottom() - top},
         {.ink = ink});
  };
  bar(plot.rect.x, h.zeros, Ink::Text3);
  write(drawing, "0", {plot.rect.x + plot.pitch() / 2, plot.rect.bottom() + 14}, 10,
        Weight::Regular, Ink::Text2, Align::Center);
  for (int e = plot.first; e <= plot.last; ++e)
    if (e >= ExponentHistogram::kLeast && e <= ExponentHistogram::kMost)
      bar(plot.x(e), h.count(e), Ink::Forward);
}

bool has_picture(const NumberRecord& record, NumbersPicture picture) {
  if (is_series(picture)) return series_curve(record, picture).x.size() > 1;
  return record.shown() != nullptr &&
         record.histograms()[static_cast<std::size_t>(picture)].elements() > 0;
}

void draw_numbers(Drawing& drawing, const Rect& area, const NumberRecord& record,
                  NumbersPicture picture) {
  if (!has_picture(record, picture)) return;
  if (is_series(picture))
    draw_curve(drawing, area, series_curve(record, picture));
  else
    draw_exponents(drawing, area, record, static_cast<NumberClass>(picture));
}

Hover describe_numbers(const NumberRecord& record, NumbersPicture picture, Item item) {
  return is_series(picture) ? describe_curve(series_curve(record, picture), item) : Hover{};
}

std::string numbers_words(const NumberRecord& record, NumbersPicture picture) {
  if (!has_picture(record, picture)) return "";
  if (is_series(picture)) return curve_words(series_curve(record, picture));
  const auto of = static_cast<NumberClass>(picture);
  return fmt::format("Exponents of {} at step {}. {}.", to_string(of), record.shown()->step,
                     window_words(*record.shown(), of));
}

Drawing numbers_picture(const NumberRecord& record) {
  std::vector<std::pair<NumbersPicture, float>> parts;  // with their heights
  float height = 0;
  for (std::size_t p = 0; p < kNumbersPictures; ++p) {
    const auto picture = static_cast<NumbersPicture>(p);
    if (!has_picture(record, picture)) continue;
    parts.emplace_back(picture, is_series(picture) ? kSeriesHeight : kExponentsHeight);
    height += parts.back().second;
  }
  Drawing drawing({kNumbersWidth, height});
  float y = 0;
  for (const auto& [picture, high] : parts) {
    draw_numbers(drawing, {0, y, kNumbersWidth, high}, record, picture);
    y += high;
  }
  return drawing;
}

DataTable numbers_table(const NumberRecord& record) {
  std::vector<std::vector<DataCell>> rows;
  for (std::size_t c = 0; c < kNumberClasses; ++c) {
    const ExponentHistogram& h = record.histograms()[c];
    for (int e = ExponentHistogram::kLeast; e <= ExponentHistogram::kMost; ++e)
      if (h.count(e) > 0)
        rows.push_back({std::string(to_string(static_cast<NumberClass>(c))), std::int64_t{e},
                        h.count(e),
                        static_cast<double>(h.count(e)) / static_cast<double>(h.elements())});
  }
  return listed_table("Exponents",
                      {{"numbers", DataUnit::Words},
                       {"binary exponent", DataUnit::Count},
                       {"count", DataUnit::Count},
                       {"share", DataUnit::Share}},
                      std::move(rows));
}

}  // namespace trainyard
