#include "visualizers/probe/staircase_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kProbeHead = 44, kProbeFoot = 40, kProbeLeft = 74, kProbeRight = 16;
constexpr float kFreeBar = 5, kProbeSentence = 17;
constexpr float kPictureWidth = 1000, kChartHeight = 480;
constexpr double kWide = 32;  // a larger range of widths has a logarithmic axis

// Calibrated and learned prices, in the order of the legend.
struct PriceLine {
  const char* words;
  Ink ink;
  std::optional<double> ProbedWidth::* seconds;
};
constexpr PriceLine kPrices[] = {{"calibrated", Ink::Forward, &ProbedWidth::calibrated},
                                 {"learned", Ink::Optimizer, &ProbedWidth::learned}};

struct ProbePlot {
  Rect rect;
  double first = 1, last = 2, low = 0, high = 1;
  bool wide = false;

  float x(double width) const {
    const double share =
        wide ? std::log(width / first) / std::log(last / first) : (width - first) / (last - first);
    return rect.x + rect.width * static_cast<float>(share);
  }
  float y(double seconds) const {
    const double share =
        wide ? std::log(seconds / low) / std::log(high / low) : (seconds - low) / (high - low);
    return rect.bottom() - rect.height * static_cast<float>(std::clamp(share, -4.0, 4.0));
  }
};

ProbePlot probe_plot(const WidthProbe& probe, const Rect& area) {
  ProbePlot plot;
  plot.rect = {area.x + kProbeLeft, area.y + kProbeHead,
               std::max(1.f, area.width - kProbeLeft - kProbeRight),
               std::max(1.f, area.height - kProbeHead - kProbeFoot)};
  plot.first = static_cast<double>(probe.widths.front().width);
  plot.last = std::max(plot.first * 1.001, static_cast<double>(probe.widths.back().width));
  plot.wide = plot.last / plot.first > kWide;
  double low = 1e300, high = 0;
  const auto take = [&](double seconds) {
    low = std::min(low, seconds), high = std::max(high, seconds);
  };
  for (std::size_t i = 0; i < probe.widths.size(); ++i) {
    take(probe.stairs.seconds[i].low), take(probe.stairs.seconds[i].high);
    take(probe.widths[i].roofline);
    for (const PriceLine& price : kPrices)
      if (const auto seconds = probe.widths[i].*price.seconds) take(*seconds);
  }
  plot.low = plot.wide ? low / 1.2 : std::max(0.0, low - 0.12 * (high - low));
  plot.high = plot.wide ? high * 1.2 : high + 0.06 * (high - low);
  return plot;
}

void draw_probe_axes(Drawing& drawing, const ProbePlot& plot, const WidthProbe& probe) {
  const auto tick = [&](double value) {
    draw_y_tick(drawing, plot.rect, plot.y(value), format_duration(seconds(value)));
  };
  if (plot.wide) {
    for (const LogTick& each : log_ticks(plot.low, plot.high))
      if (each.digit == 1 || each.digit == 3) tick(each.value);
  } else {
    for (const double value : round_values(plot.low, plot.high, 6)) tick(value);
  }
  float taken = plot.rect.x - 100;
  const auto label = [&](std::int64_t width) {
    const std::string words = format_count(width);
    const float x = plot.x(static_cast<double>(width)), half = text_width(words, 10) / 2;
    if (x - half < taken) return;
    draw_x_tick(drawing, plot.rect, x, words);
    taken = x + half + 10;
  };
  // Multiples of a power of two are where steps are looked for.
  std::int64_t multiple = 1;
  while (static_cast<double>(multiple) * 12 < plot.last - plot.first) multiple *= 2;
  for (const ProbedWidth& w : probe.widths)
    if (plot.wide || w.width % multiple == 0) label(w.width);
  line(drawing, {plot.rect.x, plot.rect.bottom()}, {plot.rect.right(), plot.rect.bottom()},
       {.ink = Ink::Axis});
  write(drawing, probe.varied, {plot.rect.right(), plot.rect.bottom() + 28}, 10, Weight::Medium,
        Ink::Text3, Align::Right);
}

template <class Seconds>
void draw_price(Drawing& drawing, const ProbePlot& plot, const WidthProbe& probe, const Seconds& of,
                const Style& style) {
  std::vector<Point> path;
  for (const ProbedWidth& w : probe.widths)
    if (const std::optional<double> price = of(w))
      path.push_back({plot.x(static_cast<double>(w.width)), plot.y(*price)});
  if (path.size() > 1) polyline(drawing, path, style);
}

constexpr Style kRoofline{.ink = Ink::Text2, .stroke = 1.2f, .dash_on = 4, .dash_off = 3};

void draw_dear(Drawing& drawing, Point at) {
  ring(drawing, at, 6, {.ink = Ink::Error, .stroke = 1.6f});
}

void draw_measured(Drawing& drawing, const ProbePlot& plot, const WidthProbe& probe,
                   const ViewState& state) {
  std::vector<Point> path;
  for (std::size_t i = 0; i < probe.widths.size(); ++i)
    path.push_back({plot.x(static_cast<double>(probe.widths[i].width)),
                    plot.y(probe.stairs.seconds[i].value)});
  if (path.size() > 1)
    polyline(drawing, path, {.ink = Ink::WeightGradient, .alpha = 0.6f, .stroke = 1});
  for (const WidthRatio& dear : probe.stairs.dear) draw_dear(drawing, path[dear.to]);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Banded<double>& time = probe.stairs.seconds[i];
    whisker(drawing, {path[i].x, plot.y(time.low)}, {path[i].x, plot.y(time.high)}, 4,
            {.ink = Ink::WeightGradient, .alpha = 0.8f});
    const Item item{ItemKind::Dot, i};
    disc(drawing, path[i], 2.6f, {.ink = Ink::WeightGradient, .item = item});
    if (state.selected == item) ring(drawing, path[i], 9, {.ink = Ink::Select, .stroke = 2});
  }
}

// Bars that overlap stand above each other in two rows.
void draw_free(Drawing& drawing, const ProbePlot& plot, const WidthProbe& probe) {
  int row = 0;
  for (const WidthRatio& f : probe.stairs.free) {
    const float left = plot.x(static_cast<double>(probe.widths[f.from].width)),
                right = plot.x(static_cast<double>(probe.widths[f.to].width));
    fill(drawing,
         {left, plot.rect.bottom() - (kFreeBar + 2) * static_cast<float>(row + 1),
          std::max(1.f, right - left), kFreeBar},
         {.ink = Ink::Ok, .alpha = 0.75f, .item = {ItemKind::Dot, f.to}});
    row = (row + 1) % 2;
  }
}

void draw_probe_legend(Drawing& drawing, const Rect& area, const WidthProbe& probe) {
  std::vector<LegendEntry> entries = {
      {"measured: median and interval",
       [](Drawing& d, Point at) { disc(d, at, 2.6f, {.ink = Ink::WeightGradient}); }},
      {"roofline, by formula", line_sign(kRoofline)}};
  for (const PriceLine& price : kPrices)
    if (probe.widths.front().*price.seconds)
      entries.push_back({price.words, line_sign({.ink = price.ink, .stroke = 1.6f})});
  entries.push_back({"dear width", draw_dear});
  entries.push_back({"free padding", box_sign(Ink::Ok)});
  draw_legend_after(drawing, {area.x + 10, area.y + 31}, area.right() - 10, entries);
}

std::string price_words(double price, double measured) {
  return format_duration(seconds(price)) + ", " + format_signed_percent(price / measured - 1);
}

}  // namespace

void draw_staircase(Drawing& drawing, const Rect& area, const WidthProbe& probe,
                    const ViewState& state) {
  const ClipScope clip(drawing, area);
  write_within(drawing,
               fmt::format("{} over {}, {} rounds on {}", probed_words(probe), probe.varied,
                           probe.rounds, probe.machine),
               {area.x + 10, area.y + 13}, area.width - 20, 11, Weight::SemiBold, Ink::Text);
  if (probe.widths.empty() || area.height < kProbeHead + kProbeFoot + 20) return;
  draw_probe_legend(drawing, area, probe);
  const ProbePlot plot = probe_plot(probe, area);
  draw_probe_axes(drawing, plot, probe);
  const ClipScope inside(drawing,
                         {plot.rect.x - 8, plot.rect.y, plot.rect.width + 16, plot.rect.height});
  draw_free(drawing, plot, probe);
  draw_price(
      drawing, plot, probe, [](const ProbedWidth& w) { return std::optional(w.roofline); },
      kRoofline);
  for (const PriceLine& price : kPrices)
    draw_price(drawing, plot, probe, [&](const ProbedWidth& w) { return w.*price.seconds; },
               {.ink = price.ink, .stroke = 1.4f});
  draw_measured(drawing, plot, probe, state);
}

Hover describe_staircase(const WidthProbe& probe, Item item) {
  Hover hover;
  if (item.kind != ItemKind::Dot || item.tag >= probe.widths.size()) return hover;
  const ProbedWidth& w = probe.widths[item.tag];
  const Banded<double>& time = probe.stairs.seconds[item.tag];
  hover.title = probe.varied + "=" + std::to_string(w.width);
  hover.where = probed_words(probe);
  hover.value =
      fmt::format("measured {} ({} to {})", format_duration(seconds(time.value)),
                  format_duration(seconds(time.low)), format_duration(seconds(time.high)));
  hover.lines = {"roofline, by formula " + price_words(w.roofline, time.value)};
  for (const PriceLine& price : kPrices)
    if (const auto found = w.*price.seconds)
      hover.lines.push_back(std::string(price.words) + " " + price_words(*found, time.value));
  if (item.tag > 0) {
    const StairStep& jump = probe.stairs.jumps[item.tag - 1];
    hover.lines.push_back(fmt::format(
        "{} against {}={} ({} by the roofline)", format_signed_percent(jump.jump.ratio.value - 1),
        probe.varied, probe.widths[item.tag - 1].width, format_signed_percent(jump.roofline - 1)));
  }
  return hover;
}

DataTable staircase_table(const WidthProbe& probe) {
  std::vector<std::vector<DataCell>> rows;
  std::vector<Item> items;
  const auto ns = [](double value) { return DataCell(seconds(value).count()); };
  for (std::size_t i = 0; i < probe.widths.size(); ++i) {
    const ProbedWidth& w = probe.widths[i];
    const Banded<double>& time = probe.stairs.seconds[i];
    std::vector<DataCell> row(13);
    row[0] = w.width;
    row[1] = ns(time.value), row[2] = ns(time.low), row[3] = ns(time.high);
    row[4] = ns(w.roofline);
    if (w.calibrated) row[5] = ns(*w.calibrated);
    if (w.learned) row[6] = ns(*w.learned);
    if (w.work.flops.value > 0) row[7] = w.work.flops.value / time.value;
    if (i > 0) {
      const StairStep& jump = probe.stairs.jumps[i - 1];
      row[8] = jump.jump.ratio.value - 1, row[9] = jump.roofline - 1;
      const bool step = std::count(probe.stairs.steps.begin(), probe.stairs.steps.end(), i - 1) > 0;
      row[10] = std::string(step ? jump.up ? "up" : "down" : "no");
    }
    for (const WidthRatio& f : probe.stairs.free)
      if (f.from == i) row[11] = probe.widths[f.to].width;
    for (const WidthRatio& d : probe.stairs.dear)
      if (d.to == i) row[12] = probe.widths[d.from].width;
    rows.push_back(std::move(row));
    items.push_back({ItemKind::Dot, i});
  }
  return listed_table("Probe",
                      {{probe.varied, DataUnit::Count},
                       {"measured", DataUnit::Time},
                       {"measured, low", DataUnit::Time},
                       {"measured, high", DataUnit::Time},
                       {"roofline", DataUnit::Time},
                       {"calibrated", DataUnit::Time},
                       {"learned", DataUnit::Time},
                       {"attained", DataUnit::Throughput},
                       {"more than before", DataUnit::Share},
                       {"by the roofline", DataUnit::Share},
                       {"step", DataUnit::Words},
                       {"free padding to", DataUnit::Count},
                       {"dear beside", DataUnit::Count}},
                      std::move(rows), std::move(items));
}

Drawing staircase_picture(const WidthProbe& probe) {
  const std::vector<std::string> sentences = probe_sentences(probe, 3);
  Drawing drawing(
      {kPictureWidth, kChartHeight + 10 + kProbeSentence * static_cast<float>(sentences.size())});
  draw_staircase(drawing, {0, 0, kPictureWidth, kChartHeight}, probe, {});
  float y = kChartHeight + kProbeSentence / 2;
  for (const std::string& sentence : sentences) {
    write_within(drawing, sentence, {10, y}, kPictureWidth - 20, 11, Weight::Regular, Ink::Text2);
    y += kProbeSentence;
  }
  return drawing;
}

}  // namespace trainyard
