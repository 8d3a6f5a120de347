// The waves over one another within one cycle: where one falls as the other rises, their sum is
// nearly level.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/period_statistics.h"
#include "visualizers/waves/waves_parts.h"

namespace trainyard {
namespace {

StepCurve part_curve(const DeviceWaves& waves, std::size_t part) {
  std::vector<std::int64_t> at = waves.total.at, held = waves.parts[part];
  return step_curve(std::move(at), std::move(held));
}

// The highest of a curve in each column of one cycle.
std::vector<std::int64_t> one_cycle(const StepCurve& curve, const DeviceWaves& waves, int columns) {
  std::vector<std::size_t> samples;
  highest_of(curve, waves.cycle_from, waves.cycle_from + waves.cycle.period, columns, samples);
  std::vector<std::int64_t> bytes;
  for (const std::size_t sample : samples) bytes.push_back(curve.value[sample]);
  return bytes;
}

void draw_area(Drawing& drawing, const Rect& rect, const ByteScale& scale, std::int64_t base,
               const std::vector<std::int64_t>& bytes, const Style& style) {
  std::vector<Column> list;
  for (const std::int64_t each : bytes) list.push_back({scale.y(base + each), scale.y(base)});
  columns(drawing, rect, list, style);
}

void draw_top(Drawing& drawing, const Rect& rect, const ByteScale& scale, std::int64_t base,
              const std::vector<std::int64_t>& bytes, Ink ink) {
  std::vector<float> ys;
  for (const std::int64_t each : bytes) ys.push_back(scale.y(base + each));
  draw_through(drawing, rect, ys, 1.6f, 0, {.ink = ink});
}

void draw_phase_axis(Drawing& drawing, const Rect& rect) {
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const float x = x_at(rect, quarter / 4.0);
    line(drawing, {x, rect.y}, {x, rect.bottom()}, {.ink = Ink::Grid});
    const Align align = quarter == 0 ? Align::Left : quarter == 4 ? Align::Right : Align::Center;
    write(drawing, two_digits(quarter / 4.0) + " T", {x, rect.y + 8}, 10, Weight::Medium,
          Ink::Text3, align);
  }
}

// How level the sum is, and how the first two waves go together.
std::string summary_text(const WavesModel& model, const DeviceWaves& waves) {
  const Instant from = waves.cycle_from, to = from + waves.cycle.period;
  const WaveStatistics sum = wave_statistics(waves.total, from, to);
  std::string words = "sum " + format_bytes({sum.lowest}) + " to " + format_bytes({sum.highest});
  if (model.waves < 2) return words;
  const double r = correlation(part_curve(waves, 1), part_curve(waves, 2), from, to);
  return words + ", " + wave_name(model, 0) + " against " + wave_name(model, 1) +
         " r = " + (r < 0 ? "\u2212" : "") + two_digits(std::abs(r));
}

}  // namespace

Instant phase_instant(const DeviceWaves& waves, const Rect& plot, float x) {
  const double share =
      plot.width > 0 ? std::clamp(static_cast<double>((x - plot.x) / plot.width), 0.0, 1.0) : 0;
  return waves.cycle_from + Duration{static_cast<std::int64_t>(
                                share * static_cast<double>(waves.cycle.period.count() - 1))};
}

void draw_phases(Drawing& drawing, const Rect& rect, const ByteScale& scale,
                 const WavesModel& model, const DeviceWaves& waves, const ViewState& state) {
  draw_phase_axis(drawing, rect);
  const ClipScope clip(drawing, rect);
  const int pixels = static_cast<int>(
      std::clamp(std::lround(static_cast<double>(rect.width) * state.scale), 1L, 16384L));
  const std::vector<std::int64_t> base = one_cycle(part_curve(waves, 0), waves, pixels);
  draw_area(drawing, rect, scale, 0, base,
            {.ink = Ink::MemoryWeights, .item = {ItemKind::Wave, 0}});
  std::vector<std::vector<std::int64_t>> parts;
  for (int w = 0; w < model.waves; ++w) {
    const std::size_t part = static_cast<std::size_t>(w) + 1;
    parts.push_back(one_cycle(part_curve(waves, part), waves, pixels));
    draw_area(drawing, rect, scale, waves.state, parts.back(),
              {.ink = wave_ink(w), .alpha = 0.35f, .item = {ItemKind::Wave, part}});
  }
  for (int w = 0; w < model.waves; ++w)
    draw_top(drawing, rect, scale, waves.state, parts[static_cast<std::size_t>(w)], wave_ink(w));
  draw_top(drawing, rect, scale, 0, one_cycle(waves.total, waves, pixels), Ink::Text);
  draw_limits(drawing, rect, scale,
              {{capacity_of(model), "capacity " + format_bytes({capacity_of(model)})}});
  const std::string words = summary_text(model, waves);
  const float width = text_width(words, 10.5f, Weight::Medium);
  fill(drawing, {rect.x + 6, rect.y + 18, width + 12, 18}, {.ink = Ink::Canvas, .alpha = 0.85f});
  write(drawing, words, {rect.x + 12, rect.y + 27}, 10.5f, Weight::Medium, Ink::Text);
}

}  // namespace trainyard
