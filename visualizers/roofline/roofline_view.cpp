#include "visualizers/roofline/roofline_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/base/digest.h"
#include "visualizers/chart/axes.h"
#include "visualizers/chart/free_labels.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kRooflineLeft = 64, kRooflineRight = 16, kRooflineTop = 44, kRooflineBottom = 40;

Ink work_ink(const RooflinePoint& point) {
  if (point.recomputed) return Ink::Recompute;
  if (point.kind != WorkKind::Product && point.kind != WorkKind::Attention) return Ink::Optimizer;
  switch (point.pass) {
    case Pass::Forward:
      return Ink::Forward;
    case Pass::BackwardInput:
      return Ink::Backward;
    case Pass::BackwardWeight:
      return Ink::WeightGradient;
  }
  return Ink::Forward;
}

float radius_of(double share) {
  return std::clamp(22 * static_cast<float>(std::sqrt(share)), 3.f, 14.f);
}

std::string power_text(double value) {
  static constexpr std::array<const char*, 6> kPrefix = {"", " k", " M", " G", " T", " P"};
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < kPrefix.size()) value /= 1000, ++prefix;
  return digits_text(value) + kPrefix[prefix];
}

void draw_roofline_axes(Drawing& drawing, const Rect& area, const LogPlot& log) {
  const Rect& plot = log.plot;
  for (const auto& [value, digit] : log_ticks(log.x_low, log.x_high)) {
    const float x = log.x(value);
    const bool decade = digit == 1;
    line(drawing, {x, plot.y}, {x, plot.bottom()},
         {.ink = Ink::Grid, .alpha = decade ? 1.f : 0.5f});
    line(drawing, {x, plot.y - (decade ? 6.f : 3.f)}, {x, plot.y}, {.ink = Ink::Communication});
    if (!decade) continue;
    write(drawing, format_intensity(value), {x, plot.bottom() + 11}, 10, Weight::Medium, Ink::Text2,
          Align::Center);
    write(drawing, format_intensity(value), {x, plot.y - 13}, 10, Weight::Medium,
          Ink::Communication, Align::Center);
  }
  for (const auto& [value, digit] : log_ticks(log.y_low, log.y_high))
    if (digit == 1) draw_y_tick(drawing, plot, log.y(value), power_text(value));
  line(drawing, {plot.x, plot.y}, {plot.right(), plot.y}, {.ink = Ink::Communication});
  outline(drawing, plot, {.ink = Ink::Border});
  write(drawing, "FLOP/s of one device", {area.x + 10, area.y + 13}, 10.5f, Weight::Medium,
        Ink::Text2);
  write(drawing, "FLOP per byte sent (links, ringed dots)", {plot.right(), area.y + 13}, 10.5f,
        Weight::Medium, Ink::Communication, Align::Right);
  write(drawing, "FLOP per byte of device memory", {plot.x + plot.width / 2, plot.bottom() + 27},
        10.5f, Weight::Medium, Ink::Text2, Align::Center);
}

// Draws a sloped roof from the left edge of the plot to where `limit` cuts it off.
void draw_slope(Drawing& drawing, FreeLabels& labels, const LogPlot& log, double rate, double limit,
                const Style& style) {
  const double from = std::max(log.x_low, log.y_low / rate),
               to = std::min(log.x_high, limit / rate);
  if (to <= from) return;
  const Point low{log.x(from), log.y(from * rate)}, high{log.x(to), log.y(to * rate)};
  line(drawing, low, high, style);
  labels.keep_line_free(low, high);
}

// Writes beside the slope where no roof crosses the words: left above it or right below it, near
// this share of the height of the plot.
void label_slope(FreeLabels& labels, const LogPlot& log, const std::string& words, double rate,
                 float height, Ink ink) {
  constexpr float kGap = 6, kHalfLine = 8;  // px
  const double steep = static_cast<double>(log.plot.height) / std::log(log.y_high / log.y_low) *
                       std::log(log.x_high / log.x_low) / static_cast<double>(log.plot.width);
  const float aside = kGap + kHalfLine / static_cast<float>(steep);
  const float width = text_width(words, 10);
  for (const float away : {0.f, 0.06f, -0.06f, 0.12f, -0.12f, 0.2f, -0.2f, 0.28f, -0.28f}) {
    const float share = height + away;
    const float y = log.plot.bottom() - log.plot.height * share;
    const double value = log.y_low * std::pow(log.y_high / log.y_low, double{share});
    const float x = log.x(value / rate);
    if (labels.put_off_lines(words, {x - width - aside, y}, width, ink) ||
        labels.put_off_lines(words, {x + aside, y}, width, ink))
      return;
  }
}

void draw_flat(Drawing& drawing, FreeLabels& labels, const LogPlot& log, double figure,
               double memory, const Style& style) {
  const double ridge = std::max(log.x_low, figure / memory);
  if (figure < log.y_low || ridge >= log.x_high) return;
  const Point left{log.x(ridge), log.y(figure)}, right{log.plot.right(), log.y(figure)};
  line(drawing, left, right, style);
  labels.keep_line_free(left, right);
}

// Writes above the right end of the roof, or below it if that place is taken.
void label_flat(FreeLabels& labels, const LogPlot& log, const ComputeRoof& roof) {
  std::string words = roof.formats + " " + format_throughput(roof.datasheet);
  if (roof.used) words += ", " + format_throughput(roof.effective) + " reached";
  const float width = text_width(words, 10), x = log.plot.right() - width - 6;
  const float y = log.y(roof.datasheet.value);
  for (const float away : {-9.f, 9.f})
    for (float left = x; left > log.plot.x + log.plot.width / 2; left -= 40)
      if (labels.put_off_lines(words, {left, y + away}, width, Ink::Text2)) return;
}

double highest_roof(const Roofline& roofline, bool effective) {
  double most = 0;
  for (const ComputeRoof& roof : roofline.compute)
    if (roof.used) most = std::max(most, effective ? roof.effective.value : roof.datasheet.value);
  if (most == 0 && !roofline.compute.empty()) most = roofline.compute.front().datasheet.value;
  return most;
}

void draw_roofs(Drawing& drawing, FreeLabels& labels, const LogPlot& log,
                const Roofline& roofline) {
  const SlopeRoof& memory = roofline.memory;
  const Style solid{.ink = Ink::Text, .stroke = 1.6f},
      dashed{.ink = Ink::Text, .stroke = 1.2f, .dash_on = 5, .dash_off = 3};
  const Style dotted{.ink = Ink::Text3, .dash_on = 1.5f, .dash_off = 3};
  for (const ComputeRoof& roof : roofline.compute) {
    draw_flat(drawing, labels, log, roof.datasheet.value, memory.datasheet.value,
              roof.used ? dashed : dotted);
    if (roof.used)
      draw_flat(drawing, labels, log, roof.effective.value, memory.effective.value, solid);
  }
  draw_slope(drawing, labels, log, memory.datasheet.value, highest_roof(roofline, false), dashed);
  draw_slope(drawing, labels, log, memory.effective.value, highest_roof(roofline, true), solid);
  // The roofs of links are drawn only if anything is sent.
  const std::size_t links = roofline.traffic.empty() ? 0 : roofline.links.size();
  for (std::size_t i = 0; i < links; ++i) {
    const SlopeRoof& link = roofline.links[i];
    const Style style{.ink = i == 0 ? Ink::Communication : Ink::Swap,
                      .stroke = 1.4f,
                      .dash_on = i == 0 ? 0.f : 7.f,
                      .dash_off = 3};
    draw_slope(drawing, labels, log, link.effective.value, highest_roof(roofline, true), style);
  }
  for (std::size_t i = 0; i < links; ++i) {
    const SlopeRoof& link = roofline.links[i];
    label_slope(labels, log, link.name + " " + format_bandwidth(link.effective),
                link.effective.value, 0.42f, i == 0 ? Ink::Communication : Ink::Swap);
  }
  label_slope(labels, log, memory.name + " " + format_bandwidth(memory.datasheet) + ", datasheet",
              memory.datasheet.value, 0.52f, Ink::Text2);
  label_slope(labels, log, format_bandwidth(memory.effective) + " reached", memory.datasheet.value,
              0.44f, Ink::Text2);
  for (const ComputeRoof& roof : roofline.compute) label_flat(labels, log, roof);
}

// A product is a circle, attention is a diamond, and what is bound by memory is a square.
void draw_work_sign(Drawing& drawing, const RooflinePoint& point, Point at, float r, Item item) {
  const Style style{.ink = work_ink(point), .alpha = 0.92f, .item = item};
  if (point.kind == WorkKind::Product)
    disc(drawing, at, r, style);
  else if (point.kind == WorkKind::Attention)
    polygon(
        drawing,
        {{at.x, at.y - r - 1}, {at.x + r + 1, at.y}, {at.x, at.y + r + 1}, {at.x - r - 1, at.y}},
        style);
  else
    fill(drawing, {at.x - r, at.y - r, 2 * r, 2 * r}, style);
}

Point place_of(const LogPlot& log, const RooflinePoint& point) {
  return {log.x(point.intensity()), log.y(point.achieved().value)};
}

void draw_work_points(Drawing& drawing, FreeLabels& labels, const LogPlot& log,
                      const Roofline& roofline, Item selected) {
  for (const RooflinePoint& point : roofline.points) {
    const Point at = place_of(log, point);
    const float r = radius_of(point.share);
    labels.keep_free({at.x - r, at.y - r, 2 * r, 2 * r});
    const Item item{ItemKind::Dot, point_tag(point)};
    draw_work_sign(drawing, point, at, r, item);
    if (selected == item) ring(drawing, at, r + 4, {.ink = Ink::Select, .stroke = 2});
  }
}

// The largest points come first, so that they get the best places.
void label_points(FreeLabels& labels, const LogPlot& log, const Roofline& roofline) {
  for (const RooflinePoint& point : roofline.points)
    if (point.share >= 0.005)
      labels.beside(point.name + "  " + format_percent(point.share), place_of(log, point),
                    radius_of(point.share), Ink::Text);
}

void draw_traffic(Drawing& drawing, FreeLabels& labels, const LogPlot& log,
                  const Roofline& roofline, Item selected) {
  for (std::size_t i = 0; i < roofline.traffic.size(); ++i) {
    const LinkPoint& link = roofline.traffic[i];
    if (link.bytes.value <= 0 || link.flops.value <= 0) continue;
    const Ink ink = link.level == 0 ? Ink::Communication : Ink::Swap;
    const bool off = link.intensity() > log.x_high;
    const Point at{off ? log.plot.right() - 8 : log.x(link.intensity()),
                   log.y(roofline.busy.value) + (off ? 30 + 14 * static_cast<float>(i) : 0)};
    const Item item{ItemKind::Dot, traffic_tag(link)};
    if (off)
      polygon(drawing, {{at.x, at.y - 4}, {at.x + 6, at.y}, {at.x, at.y + 4}},
              {.ink = ink, .item = item});
    else
      ring(drawing, at, 6, {.ink = ink, .stroke = 2, .item = item});
    if (selected == item) ring(drawing, at, 10, {.ink = Ink::Select, .stroke = 2});
    const std::string words = link.name + "  " + format_intensity(link.intensity()) + " FLOP/B" +
                              (off ? ", off scale" : "");
    labels.keep_free({at.x - 7, at.y - 7, 14, 14});
    labels.beside(words, at, 8, ink);
  }
}

LegendEntry work_entry(const char* words, WorkKind kind, Pass pass) {
  RooflinePoint point;
  point.kind = kind;
  point.pass = pass;
  return {words, [=](Drawing& d, Point at) { draw_work_sign(d, point, at, 4, {}); }};
}

void draw_roofline_legend(Drawing& drawing, FreeLabels& labels, const Rect& plot) {
  const float y = draw_legend_below(
      drawing, {plot.x + 14, plot.y + 14},
      {work_entry("matmul, forward", WorkKind::Product, Pass::Forward),
       work_entry("matmul, input gradient", WorkKind::Product, Pass::BackwardInput),
       work_entry("matmul, weight gradient", WorkKind::Product, Pass::BackwardWeight),
       work_entry("attention", WorkKind::Attention, Pass::Forward),
       work_entry("memory-bound", WorkKind::Elementwise, Pass::Forward),
       {"communication",
        [](Drawing& d, Point at) { ring(d, at, 4, {.ink = Ink::Communication, .stroke = 2}); }}});
  write(drawing, "area = share of busy time", {plot.x + 9, y}, 10, Weight::Regular, Ink::Text3);
  labels.keep_free({plot.x, plot.y, 170, y + 9 - plot.y});
}

}  // namespace

float LogPlot::x(double intensity) const {
  const double share = std::log(intensity / x_low) / std::log(x_high / x_low);
  return plot.x + plot.width * static_cast<float>(std::clamp(share, -0.1, 1.1));
}

float LogPlot::y(double flops_per_second) const {
  const double share = std::log(flops_per_second / y_low) / std::log(y_high / y_low);
  return plot.bottom() - plot.height * static_cast<float>(std::clamp(share, -0.1, 1.1));
}

LogPlot roofline_plot(const Roofline& roofline, const Rect& area) {
  LogPlot log;
  log.plot = {area.x + kRooflineLeft, area.y + kRooflineTop,
              std::max(1.f, area.width - kRooflineLeft - kRooflineRight),
              std::max(1.f, area.height - kRooflineTop - kRooflineBottom)};
  const double peak = std::max(1.0, highest_roof(roofline, false));
  double low = 0.5, high = 3e4, slowest = peak / 100;
  for (const RooflinePoint& point : roofline.points) {
    low = std::min(low, point.intensity() / 1.5);
    high = std::max(high, point.intensity() * 2);
    slowest = std::min(slowest, point.achieved().value / 2);
  }
  log.x_low = std::max(low, 1e-3);
  log.x_high = std::min(high, 1e6);
  log.y_low = std::max(slowest, peak * 1e-6);
  log.y_high = peak * 2.5;
  return log;
}

std::uint64_t point_tag(const RooflinePoint& point) {
  const std::string words = point.name + "\n" + std::to_string(static_cast<int>(point.kind)) + " " +
                            std::to_string(static_cast<int>(point.pass)) +
                            (point.recomputed ? " again" : "");
  return digest(words) % kTrafficTag;
}

std::uint64_t traffic_tag(const LinkPoint& link) {
  return kTrafficTag | digest(link.name) % kTrafficTag;
}

void draw_roofline(Drawing& drawing, const Rect& area, const Roofline& roofline,
                   const ViewState& state) {
  const ClipScope clip(drawing, area);
  const LogPlot log = roofline_plot(roofline, area);
  FreeLabels labels(drawing, log.plot);
  draw_roofline_axes(drawing, area, log);
  const ClipScope plot(drawing, log.plot);
  draw_roofline_legend(drawing, labels, log.plot);
  draw_roofs(drawing, labels, log, roofline);
  draw_work_points(drawing, labels, log, roofline, state.selected);
  draw_traffic(drawing, labels, log, roofline, state.selected);
  label_points(labels, log, roofline);
}

}  // namespace trainyard
