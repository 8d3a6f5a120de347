#include "visualizers/waves/waves_view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/time/lane_painter.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/waves/waves_parts.h"

namespace trainyard {
namespace {

constexpr float kHeadroom = 22;  // px above the highest value, for the words about the peak

bool says_aligned(const DeviceWaves& waves, const OffsetScan& scan) {
  return waves.aligned && !scan.bytes.empty();
}

/// What one picture of the memory is drawn from.
struct WavesPlot {
  const WavesModel& model;
  const DeviceWaves& waves;
  Rect rect;
  Viewport v;
  ByteScale scale;
  std::vector<std::size_t> highest;  // samples, one a device pixel
};

std::int64_t highest_of(const WavesModel& model, const DeviceWaves& waves, const OffsetScan& scan) {
  const std::int64_t aligned = says_aligned(waves, scan) ? scan.bytes.front() : 0;
  const Banded<Bytes>* band = peak_band(*model.experiment, waves.device);
  return std::max({capacity_of(model), waves.total.value[waves.total.peak], aligned,
                   band == nullptr ? 0 : band->high.value});
}

void draw_band(Drawing& drawing, const WavesPlot& plot, std::size_t part, Ink ink,
               std::vector<std::int64_t>& below) {
  std::vector<Column> list(plot.highest.size());
  bool any = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t bytes = plot.waves.parts[part][plot.highest[i]];
    list[i] = {plot.scale.y(below[i] + bytes), plot.scale.y(below[i])};
    below[i] += bytes;
    any |= bytes > 0;
  }
  if (any) columns(drawing, plot.rect, list, {.ink = ink, .item = {ItemKind::Wave, part}});
}

void draw_lanes(Drawing& drawing, const WavesLayout& layout, const WavesModel& model,
                const TimelineModel& timeline, const Viewport& v, const ViewState& state) {
  const RankLanes& rank = timeline.ranks[layout.device.value];
  LanePainter painter(drawing, timeline, v, state.scale);
  float top = layout.lanes.y + kWaveLaneGap;
  for (std::size_t i = 0; i < rank.compute.size(); ++i) {
    const float height = std::min(kWaveLane, layout.lanes.bottom() - top);
    if (height < 2) break;
    const int wave = static_cast<int>(i);
    const bool own = rank.compute.size() == static_cast<std::size_t>(model.waves) && wave > -1;
    if (own && model.waves > 1)
      box(drawing, {layout.lanes.x + 10, top + height / 2 - 4.5f, 9, 9}, {.ink = wave_ink(wave)});
    std::string name = own && model.waves > 1 ? wave_name(model, wave) : rank.name;
    write(drawing, std::move(name),
          {layout.lanes.x + (model.waves > 1 ? 26.f : 10.f), top + height / 2}, 11,
          Weight::SemiBold, Ink::Text);
    const ClipScope clip(drawing, {v.plot.x, top, v.plot.width, height});
    painter.compute(rank.compute[i], top, height, rank.device);
    top += height + kWaveLaneGap;
  }
}

void draw_bar(Drawing& drawing, const WavesLayout& layout, const WavesModel& model,
              const TimelineModel& timeline, bool by_phase) {
  const Rect& bar = layout.bar;
  const float left =
      draw_section_bar(drawing, bar, "Memory, " + timeline.ranks[layout.device.value].name);
  const float right = by_phase ? end_section_bar(drawing, bar, "aligned by phase of T", Ink::Text3)
                               : bar.right() - kPlotMargin;
  std::vector<LegendEntry> entries;
  const auto add = [&](const std::string& words, Ink ink, std::uint64_t part) {
    entries.push_back({words, box_sign(ink, {ItemKind::Wave, part})});
  };
  add("model state", Ink::MemoryWeights, 0);
  for (int w = 0; w < model.waves; ++w)
    add(model.waves == 1 ? "microbatches" : wave_name(model, w), wave_ink(w),
        static_cast<std::uint64_t>(w) + 1);
  draw_legend_after(drawing, {left, bar.y + bar.height / 2}, right, entries);
}

void draw_reading(Drawing& drawing, const WavesLayout& layout, const DeviceWaves& waves,
                  std::int64_t capacity, const Banded<Bytes>* band) {
  const std::int64_t peak = run_peak(waves);
  const Rect& area = layout.memory;
  write(drawing, format_bytes({peak}), {area.x + 10, area.y + 18}, 15, Weight::SemiBold, Ink::Text);
  write(drawing, "peak", {area.x + 10, area.y + 35}, 10, Weight::Regular, Ink::Text3);
  if (band != nullptr)
    write(drawing, band_text(*band).range, {area.x + 10, area.y + 49}, 10, Weight::Regular,
          Ink::Text2);
  write(drawing, headroom_text(capacity - peak), {area.x + 10, area.y + 66}, 10.5f, Weight::Medium,
        peak > capacity ? Ink::Error : Ink::Ok);
  const std::int64_t solo = peak_of(waves.cycle);
  if (solo <= 0) return;
  const double share = static_cast<double>(peak - waves.state) / static_cast<double>(solo);
  write(drawing, two_digits(share) + " \u00D7", {area.x + 10, area.y + 87}, 13, Weight::SemiBold,
        Ink::Text);
  write(drawing, "one wave " + format_bytes({solo}), {area.x + 10, area.y + 103}, 10,
        Weight::Regular, Ink::Text3);
}

void draw_memory_plot(Drawing& drawing, const WavesLayout& layout, const WavesModel& model,
                      const DeviceWaves& waves, const OffsetScan& scan, const Viewport& v,
                      const ViewState& state) {
  const Rect rect{v.plot.x, layout.memory.y, v.plot.width, layout.memory.height};
  const std::int64_t capacity = capacity_of(model), highest = highest_of(model, waves, scan);
  WavesPlot plot{
      model, waves, rect, v, scale_of(rect, highest, std::min(kHeadroom, rect.height / 4)), {}};
  const long pixels =
      std::clamp(std::lround(static_cast<double>(rect.width) * state.scale), 1L, 16384L);
  highest_of(waves.total, v.from, v.to, static_cast<int>(pixels), plot.highest);
  const Banded<Bytes>* band = peak_band(*model.experiment, waves.device);
  draw_reading(drawing, layout, waves, capacity, band);
  draw_bytes_axis(drawing, rect, plot.scale, 0, static_cast<double>(highest));
  if (state.by_phase) return draw_phases(drawing, rect, plot.scale, model, waves, state);
  draw_grid(drawing, rect, v);
  const ClipScope clip(drawing, rect);
  std::vector<std::int64_t> below(plot.highest.size());
  draw_band(drawing, plot, 0, Ink::MemoryWeights, below);
  for (int w = 0; w < model.waves; ++w)
    draw_band(drawing, plot, static_cast<std::size_t>(w) + 1, wave_ink(w), below);
  if (says_aligned(waves, scan))
    draw_aligned(drawing, rect, v, plot.scale, *waves.aligned, static_cast<int>(pixels));
  std::vector<float> top;
  for (const std::size_t sample : plot.highest)
    top.push_back(plot.scale.y(waves.total.value[sample]));
  draw_through(drawing, rect, top, 1.4f, 0, {.ink = Ink::Text});
  const float limit = plot.scale.y(capacity);
  for (std::size_t i = 0; i < top.size(); ++i)
    if (top[i] < limit) {
      std::size_t next = i + 1;
      while (next < top.size() && top[next] < limit) ++next;
      const float width = rect.width / static_cast<float>(top.size());
      const float least = *std::min_element(top.begin() + static_cast<std::ptrdiff_t>(i),
                                            top.begin() + static_cast<std::ptrdiff_t>(next));
      hatch(drawing,
            {rect.x + width * static_cast<float>(i), least, width * static_cast<float>(next - i),
             limit - least},
            Pattern::Overflow);
      i = next;
    }
  std::vector<Limit> limits = {{capacity, "capacity " + format_bytes({capacity})}};
  if (state.wave_offset && !scan.share.empty()) {
    const std::int64_t dragged = peak_at_offset(scan, *state.wave_offset);
    limits.push_back({dragged, "peak " + format_bytes({dragged}), Ink::Accent, 4});
  }
  if (says_aligned(waves, scan)) limits.push_back(aligned_limit({scan.bytes.front()}));
  if (const std::int64_t solo = waves.state + peak_of(waves.cycle); model.waves > 1)
    limits.push_back({solo, "with one wave " + format_bytes({solo}), Ink::Text2, 2});
  draw_limits(drawing, rect, plot.scale, limits);
  const Instant at{waves.total.at[waves.total.peak]};
  if (band != nullptr)
    whisker(drawing, {cut_x(v, at), plot.scale.y(band->low.value)},
            {cut_x(v, at), plot.scale.y(band->high.value)}, 7,
            {.ink = band->high.value > capacity ? Ink::Warn : Ink::Text, .stroke = 1.2f});
  peak_marker(drawing, {cut_x(v, at), plot.scale.y(waves.total.value[waves.total.peak]) - 1},
              {.ink = Ink::Text, .item = {ItemKind::Peak, waves.device.value}});
}

}  // namespace

void draw_waves(Drawing& drawing, const Rect& area, const WavesModel& model,
                const TimelineModel& timeline, const ViewState& state) {
  if (model.devices.empty()) return;
  const ClipScope clip(drawing, area);
  const WavesLayout layout = waves_layout(model, area, state);
  const DeviceWaves& waves = model.devices[layout.device.value];
  const OffsetScan scan = scan_of(model, layout.device);
  const Viewport v = viewport_of(layout.ruler, state, model.end);
  draw_ruler(drawing, layout.ruler, v, state, model.end);
  draw_lanes(drawing, layout, model, timeline, v, state);
  draw_bar(drawing, layout, model, timeline, state.by_phase);
  draw_memory_plot(drawing, layout, model, waves, scan, v, state);
  // A plot of phases has an axis of its own.
  const float last = state.by_phase ? layout.bar.y : layout.memory.bottom();
  draw_time_marks(drawing, {area.x, layout.lanes.y, area.width, last - layout.lanes.y}, v, state);
  draw_time_tags(drawing, layout.ruler, v, state, model.end);
  draw_offset(drawing, layout, model, waves, scan, state);
  if (layout.cards.width > 0) draw_wave_cards(drawing, layout.cards, model, waves);
}

}  // namespace trainyard
