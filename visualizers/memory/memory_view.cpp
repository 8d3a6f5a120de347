#include "visualizers/memory/memory_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/drawing/drawing_parts.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/memory_wave.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kHeadroom = 9;  // px between the top of a wave's area and the highest of capacity
                                // and peak

constexpr std::size_t kManySamples = 1'000'000;  // in sight together, so that one processor is not
                                                 // enough

float x_at(const Viewport& v, Instant t) { return static_cast<float>(x_of(v, t)); }

constexpr std::array<std::pair<const char*, Ink>, 7> kMemoryInks = {
    {{"context, workspace", Ink::MemoryContext},
     {"weights", Ink::MemoryWeights},
     {"optimizer", Ink::MemoryOptimizer},
     {"gradients", Ink::MemoryGradients},
     {"activations", Ink::MemoryActivations},
     {"recomputed", Ink::Recompute},
     {"communication", Ink::Communication}}};

bool occurs(const CategoryBytes& bytes, Ink ink) {
  for (std::size_t c = 0; c < bytes.size(); ++c)
    if (ink_of(static_cast<Category>(c)) == ink && bytes[c].value > 0) return true;
  return false;
}

std::string capacity_text(const MemoryModel& model) {
  const Bytes capacity = model.experiment->result.capacity;
  return "capacity " + format_bytes(capacity) + " = " + format_count(capacity.value >> 20) + " MiB";
}

// Says what the areas of the large wave are, in the order in which they are stacked.
std::vector<LegendEntry> legend_of(const MemoryModel& model, DeviceId device,
                                   const MemoryStack* stack) {
  std::vector<LegendEntry> entries;
  const auto add = [&](const std::string& name, Ink ink) {
    entries.push_back({fit_text(name, 150, 10.5f),
                       box_sign(ink, {ItemKind::Legend, static_cast<std::uint64_t>(ink)})});
  };
  if (stack != nullptr) {
    for (const StackBand& band : stack->bands)
      if (std::any_of(band.bytes.begin(), band.bytes.end(), [](auto bytes) { return bytes > 0; }))
        add(band.name, band.ink);
    return entries;
  }
  const MemoryWave& wave = model.experiment->waves[device.value];
  for (const auto& [name, ink] : kMemoryInks)
    if (occurs(wave.samples[wave.peak].bytes, ink)) add(name, ink);
  return entries;
}

void draw_bar(Drawing& drawing, const MemoryLayout& layout, const MemoryModel& model,
              const MemoryStack* stack) {
  const Rect& bar = layout.bar;
  draw_section_bar(drawing, bar, "Memory");
  const float right = end_section_bar(drawing, bar, capacity_text(model));
  draw_legend_after(drawing, {layout.shown.plot.x, bar.y + bar.height / 2}, right,
                    legend_of(model, layout.large, stack));
}

void draw_capacity(Drawing& drawing, const Rect& plot, float y, float stroke) {
  line(drawing, {plot.x, y}, {plot.right(), y},
       {.ink = Ink::Text,
        .stroke = stroke,
        .dash_on = 6,
        .dash_off = 3,
        .item = {ItemKind::Capacity, 0}});
}

// The name of a peak, as in "P3". The clear peaks of a device are numbered by time.
std::string peak_name(const MemoryModel& model, DeviceId device, std::size_t sample) {
  const std::vector<std::size_t>& peaks = model.peaks[device.value];
  const auto place = std::lower_bound(peaks.begin(), peaks.end(), sample);
  return "P" + std::to_string(place - peaks.begin() + 1);
}

// Draws the other peaks that are in sight, if they are few enough to be told apart. A name is left
// out where the capacity's line or the tag of the highest peak would lie over it.
void draw_peaks(Drawing& drawing, const Rect& plot, const Viewport& v, const ByteScale& scale,
                const MemoryModel& model, DeviceId device, const Rect& tag) {
  constexpr std::ptrdiff_t kMost = 16;
  const StepCurve& curve = model.totals[device.value];
  const std::vector<std::size_t>& peaks = model.peaks[device.value];
  const auto at_or_after = [&](Instant t) {
    return std::lower_bound(peaks.begin(), peaks.end(), t, [&](std::size_t sample, Instant when) {
      return Instant{curve.at[sample]} < when;
    });
  };
  const auto first = at_or_after(v.from), last = at_or_after(v.to);
  if (last - first > kMost) return;
  for (auto peak = first; peak != last; ++peak) {
    if (*peak == curve.peak) continue;
    const float x = x_at(v, Instant{curve.at[*peak]});
    const float tip = std::max(scale.y(curve.value[*peak]) - 1, plot.y + 7);
    peak_marker(drawing, {x, tip}, {.ink = Ink::Text2});
    const std::string name = peak_name(model, device, *peak);
    const float width = text_width(name, 10) + 4;
    const Rect words{x - width / 2, tip - 18, width, 12}, both = intersect(words, tag);
    const float limit = scale.y(model.experiment->result.capacity.value);
    if (words.y < plot.y || (limit > words.y && limit < words.bottom()) ||
        (both.width > 0 && both.height > 0))
      continue;
    write(drawing, name, {x, tip - 12}, 10, Weight::Medium, Ink::Text2, Align::Center);
  }
}

// Draws the triangle of the peak and its tag. The tag is beside the triangle if there is room, and
// at the edge of the plot if the peak lies outside. Returns the place of the tag.
Rect draw_peak(Drawing& drawing, const Rect& plot, const Viewport& v, const ByteScale& scale,
               const MemoryModel& model, DeviceId device) {
  const StepCurve& curve = model.totals[device.value];
  const Instant at = peak_at(curve);
  const Item item{ItemKind::Peak, device.value};
  std::string words = peak_name(model, device, curve.peak) + " " +
                      format_bytes({peak_bytes(curve)}) + " at " + instant_text(at, model.end);
  const float x = x_at(v, at), tip = scale.y(peak_bytes(curve)) - 1;
  const bool before = x<plot.x, after = x> plot.right();
  if (before) words = "\u2190 " + words;
  if (after) words += " \u2192";
  const float width = tag_width(words);
  float left = before ? plot.x + 4 : after ? plot.right() - width - 4 : x - width - 8;
  if (left < plot.x + 2 && !before) left = std::min(x + 8, plot.right() - width - 2);
  const float y = std::clamp(tip - 3, plot.y + 9, plot.bottom() - 9);
  if (!before && !after) peak_marker(drawing, {x, tip}, {.ink = Ink::Text, .item = item});
  const Rect tag = draw_tag(drawing, words, {left, y}, 16, Ink::TipBackground, Ink::Text);
  fill(drawing, tag, {.ink = Ink::TipBackground, .alpha = 0, .item = item});
  return tag;
}

// Writes how far the peak is below or above the capacity, at the right end where the tag of the
// peak is not.
void draw_headroom(Drawing& drawing, const Rect& plot, float limit, std::int64_t spare,
                   bool tag_at_right) {
  const std::string words = headroom_text(spare);
  const Ink ink = spare < 0 ? Ink::Error : Ink::Ok;
  const float width = text_width(words, 10.5f, Weight::Medium);
  const float right = tag_at_right ? plot.x + width + 12 : plot.right() - 14;
  const float y = std::min(limit + 10, plot.bottom() - 8);
  fill(drawing, {right - width - 4, y - 8, width + 8, 16}, {.ink = Ink::Canvas, .alpha = 0.85f});
  write(drawing, words, {right, y}, 10.5f, Weight::Medium, ink, Align::Right);
}

void draw_expanded_gutter(Drawing& drawing, const Rect& area, const MemoryModel& model,
                          DeviceId device) {
  const std::int64_t peak = peak_bytes(model.totals[device.value]);
  const std::int64_t spare = model.experiment->result.capacity.value - peak;
  write(drawing, rank_name(model.experiment->program, device), {area.x + 10, area.y + 16}, 11,
        Weight::SemiBold, Ink::Text);
  const bool worst = device == model.worst;
  write(drawing, worst ? "worst device" : "peak", {area.x + 10, area.y + 31}, 10, Weight::Regular,
        Ink::Text3);
  const std::string reading = format_bytes({peak});
  const std::size_t space = reading.find(' ');
  const float width = text_width(reading.substr(0, space), 15, Weight::SemiBold);
  write(drawing, reading.substr(0, space), {area.x + 10, area.y + 53}, 15, Weight::SemiBold,
        Ink::Text);
  write(drawing, reading.substr(space + 1), {area.x + 14 + width, area.y + 54}, 10, Weight::Regular,
        Ink::Text2);
  write(drawing, headroom_text(spare), {area.x + 10, area.y + 71}, 10.5f, Weight::Medium,
        spare < 0 ? Ink::Error : Ink::Ok);
  if (const Banded<Bytes>* band = peak_band(*model.experiment, device))
    write(drawing, band_text(*band).range, {area.x + 10, area.y + 88}, 10, Weight::Regular,
          Ink::Text2);
}

void draw_cursor_ring(Drawing& drawing, const Viewport& v, const ByteScale& scale,
                      const StepCurve& curve, const ViewState& state) {
  if (!state.cursor || *state.cursor < v.from || *state.cursor > v.to) return;
  ring(drawing, {x_at(v, *state.cursor), scale.y(value_at(curve, *state.cursor))}, 3.5f,
       {.ink = Ink::Cursor, .stroke = 1.5f});
}

// The highest of the capacity, the peak and the upper end of its error bar.
std::int64_t highest_of(const MemoryModel& model, DeviceId device) {
  const Banded<Bytes>* band = peak_band(*model.experiment, device);
  return std::max({model.experiment->result.capacity.value, peak_bytes(model.totals[device.value]),
                   band == nullptr ? 0 : band->high.value});
}

ByteScale expanded_scale(const MemoryLayout& layout, const MemoryModel& model) {
  return scale_of(layout.expanded, highest_of(model, layout.large), kHeadroom);
}

// Draws beside the triangle of the peak how far off the peak may be: in the large wave as an error
// bar, in a row as a pale bar, because a small error bar looks like a text cursor.
void draw_peak_bar(Drawing& drawing, const MemoryModel& model, DeviceId device, float x,
                   const ByteScale& scale, bool large) {
  const Banded<Bytes>* band = peak_band(*model.experiment, device);
  if (band == nullptr) return;
  constexpr float kCap = 7, kPale = 4;  // px of width
  const Point low{x, scale.y(band->low.value)}, high{x, scale.y(band->high.value)};
  const bool over = band->high > model.experiment->result.capacity;
  const Style style{.ink = over ? Ink::Warn : Ink::Text,
                    .alpha = large ? 1.f : 0.45f,
                    .stroke = 1.2f,
                    .item = {ItemKind::Peak, device.value}};
  if (!large) return fill(drawing, {x - kPale / 2, high.y, kPale, low.y - high.y}, style);
  whisker(drawing, low, high, kCap, {.ink = Ink::Canvas, .stroke = 3});
  whisker(drawing, low, high, kCap, style);
}

Rect expanded_plot(const MemoryLayout& layout) {
  return {layout.shown.plot.x, layout.expanded.y, layout.shown.plot.width, layout.expanded.height};
}

void draw_expanded(Drawing& drawing, const MemoryLayout& layout, const MemoryModel& model,
                   const MemoryStack* stack, const ViewState& state) {
  const Rect& area = layout.expanded;
  const ClipScope clip(drawing, area);
  const Rect plot = expanded_plot(layout);
  const std::int64_t capacity = model.experiment->result.capacity.value;
  const ByteScale scale = expanded_scale(layout, model);
  draw_expanded_gutter(drawing, area, model, layout.large);
  draw_bytes_axis(drawing, plot, scale, 0, static_cast<double>(highest_of(model, layout.large)));
  draw_grid(drawing, plot, layout.shown);
  line(drawing, {area.x, area.bottom() - 0.5f}, {area.right(), area.bottom() - 0.5f},
       {.ink = Ink::Border});
  const ClipScope inside(drawing, plot);
  WavePainter painter(drawing, model, layout.large, layout.shown, state.scale);
  if (stack == nullptr)
    painter.stack(plot, scale);
  else
    painter.stack(plot, scale, *stack);
  painter.top_line(plot, scale, 1.2f, Ink::Text);
  painter.overflow(plot, scale, capacity);
  draw_capacity(drawing, plot, scale.y(capacity), 1.4f);
}

// Writes what is read off the large wave. This comes after the range and the cursor, so that their
// lines do not cross the words.
void draw_readings(Drawing& drawing, const MemoryLayout& layout, const MemoryModel& model,
                   const ViewState& state) {
  const ClipScope clip(drawing, layout.expanded);
  const Rect plot = expanded_plot(layout);
  const StepCurve& curve = model.totals[layout.large.value];
  const std::int64_t capacity = model.experiment->result.capacity.value;
  const ByteScale scale = expanded_scale(layout, model);
  const bool peak_right = x_at(layout.shown, peak_at(curve)) > plot.x + plot.width * 0.75f;
  draw_cursor_ring(drawing, layout.shown, scale, curve, state);
  draw_headroom(drawing, plot, scale.y(capacity), capacity - peak_bytes(curve), peak_right);
  if (const float x = x_at(layout.shown, peak_at(curve)); x >= plot.x && x <= plot.right())
    draw_peak_bar(drawing, model, layout.large, std::clamp(x, plot.x + 4, plot.right() - 4), scale,
                  true);
  const Rect tag = draw_peak(drawing, plot, layout.shown, scale, model, layout.large);
  draw_peaks(drawing, plot, layout.shown, scale, model, layout.large, tag);
}

void draw_compact_row(Drawing& drawing, const Rect& row, const MemoryLayout& layout,
                      const MemoryModel& model, DeviceId device, const ViewState& state) {
  const StepCurve& curve = model.totals[device.value];
  const std::int64_t capacity = model.experiment->result.capacity.value, peak = peak_bytes(curve);
  const Rect plot{layout.shown.plot.x, row.y + 2, layout.shown.plot.width, row.height - 6};
  const ByteScale scale = scale_of(plot, highest_of(model, device), 1);
  const float y = row.y + row.height / 2;
  const bool selected = state.selected == Item{ItemKind::Wave, device.value};
  write(drawing, rank_name(model.experiment->program, device), {row.x + 10, y}, 11,
        selected ? Weight::SemiBold : Weight::Medium, Ink::Text);
  write(drawing, format_bytes({peak}), {row.x + kGutter - 8, y}, 10, Weight::Medium,
        peak > capacity ? Ink::Error : Ink::Text2, Align::Right);
  const ClipScope clip(drawing, {plot.x, row.y, plot.width, row.height});
  fill(drawing, plot, {.ink = Ink::Canvas, .alpha = 0, .item = {ItemKind::Wave, device.value}});
  WavePainter painter(drawing, model, device, layout.shown, state.scale);
  painter.summary(plot, scale);
  painter.top_line(plot, scale, 1, Ink::MemoryGradients);
  painter.overflow(plot, scale, capacity);
  draw_capacity(drawing, plot, scale.y(capacity), 1);
  // This triangle is smaller than that of the large wave, and is kept inside its row.
  const float x = x_at(layout.shown, peak_at(curve)), tip = std::max(scale.y(peak), row.y + 5);
  polygon(drawing, {{x - 3, tip - 5}, {x + 3, tip - 5}, {x, tip}},
          {.ink = Ink::Text, .item = {ItemKind::Peak, device.value}});
  draw_peak_bar(drawing, model, device, x, scale, false);
  draw_cursor_ring(drawing, layout.shown, scale, curve, state);
}

struct CompactRow {
  DeviceId device;
  Rect at;
};

std::vector<CompactRow> compact_rows(const MemoryLayout& layout, const ViewState& state) {
  std::vector<CompactRow> rows;
  const Rect& area = layout.compact;
  float y = area.y - state.scroll;
  for (const DeviceId device : layout.others) {
    if (y + layout.row > area.y && y < area.bottom())
      rows.push_back({device, {area.x, y, area.width, layout.row}});
    y += layout.row;
  }
  return rows;
}

// Long waves are drawn by all processors, because fetching samples that are far apart takes long.
void draw_compact(Drawing& drawing, const MemoryLayout& layout, const MemoryModel& model,
                  const ViewState& state) {
  const ClipScope clip(drawing, layout.compact);
  const std::vector<CompactRow> rows = compact_rows(layout, state);
  std::size_t samples = 0;
  for (const CompactRow& row : rows) samples += model.totals[row.device.value].at.size();
  const auto draw = [&](Drawing& on, const CompactRow& row) {
    draw_compact_row(on, row.at, layout, model, row.device, state);
  };
  if (samples < kManySamples) {
    for (const CompactRow& row : rows) draw(drawing, row);
    return;
  }
  draw_in_parallel(drawing, rows.size(),
                   [&](Drawing& part, std::size_t i) { draw(part, rows[i]); });
}

}  // namespace

float memory_height(const MemoryModel& model) {
  return kSectionBar + kWaveExpanded +
         kWaveCompact * static_cast<float>(std::max<std::size_t>(1, model.totals.size()) - 1);
}

MemoryLayout memory_layout(const MemoryModel& model, const Rect& area, const ViewState& state) {
  MemoryLayout layout;
  layout.bar = {area.x, area.y, area.width, kSectionBar};
  // Room that is left over goes to the large wave first.
  const float over = area.height - memory_height(model);
  const float large = std::clamp(kWaveExpanded + over, kWaveExpanded, kWaveExpandedMost);
  layout.expanded = {area.x, layout.bar.bottom(), area.width, std::floor(large)};
  const auto rows = static_cast<float>(std::max<std::size_t>(2, model.totals.size()) - 1);
  layout.row = std::floor(std::clamp((area.bottom() - layout.expanded.bottom()) / rows,
                                     kWaveCompact, kWaveCompactMost));
  const float top = layout.expanded.bottom();
  layout.compact = {area.x, top, area.width, std::max(0.f, area.bottom() - top)};
  const bool chosen = state.expanded && state.expanded->value < model.totals.size();
  layout.large = chosen ? *state.expanded : model.worst;
  for (std::uint32_t d = 0; d < model.totals.size(); ++d)
    if (DeviceId{d} != layout.large) layout.others.push_back(DeviceId{d});
  layout.shown = viewport_of(area, state, model.end);
  return layout;
}

void draw_memory(Drawing& drawing, const Rect& area, const MemoryModel& model,
                 const ViewState& state) {
  if (model.totals.empty()) return;
  const ClipScope clip(drawing, area);
  const MemoryLayout layout = memory_layout(model, area, state);
  const std::shared_ptr<const MemoryStack> stack =
      state.stack_by == StackBy::Category ? nullptr
                                          : stack_of(*model.experiment, layout.large, state);
  draw_bar(drawing, layout, model, stack.get());
  draw_expanded(drawing, layout, model, stack.get(), state);
  draw_compact(drawing, layout, model, state);
  const float rows = layout.row * static_cast<float>(layout.others.size()) - state.scroll;
  const float last = std::min(area.bottom(), layout.compact.y + std::max(0.f, rows));
  const Rect plots{area.x, layout.expanded.y, area.width, last - layout.expanded.y};
  draw_time_marks(drawing, plots, layout.shown, state);
  draw_readings(drawing, layout, model, state);
}

}  // namespace trainyard
