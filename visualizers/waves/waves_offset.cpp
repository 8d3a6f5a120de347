#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "visualizers/chart/section_bar.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/waves/waves_parts.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {
namespace {

constexpr float kSnap = 6;
constexpr float kFitsHeight = 18;  // px of the words about what fits, above the handle's line

struct OffsetAxis {
  ByteScale scale;
  double from = 0, to = 0;  // bytes at the slider's bottom, and the highest value
};

// The axis reaches from a little below the lowest value of the scan and the run to the highest.
OffsetAxis offset_axis(const Rect& slider, const OffsetScan& scan, std::int64_t own,
                       std::int64_t capacity) {
  const auto [low, high] = std::minmax_element(scan.bytes.begin(), scan.bytes.end());
  double top = static_cast<double>(std::max(own, low == scan.bytes.end() ? own : *high));
  double from = static_cast<double>(std::min(own, low == scan.bytes.end() ? own : *low));
  // The capacity is shown if it is near.
  const double span = std::max(1.0, top - from);
  const auto line = static_cast<double>(capacity);
  if (line > top && line < top + span) top = line;
  if (line < from && line > from - span) from = line;
  from = std::max(0.0, from - 0.15 * std::max(1.0, top - from));
  const double px =
      static_cast<double>(std::max(1.f, slider.height - 10)) / std::max(1.0, top - from);
  return {{slider.bottom() + static_cast<float>(px * from), px}, from, top};
}

// Where the straight line between two neighbouring entries crosses the capacity.
double crossing(const OffsetScan& scan, std::size_t i, std::int64_t capacity) {
  const auto rise = static_cast<double>(scan.bytes[i + 1] - scan.bytes[i]);
  return scan.share[i] +
         (scan.share[i + 1] - scan.share[i]) * static_cast<double>(capacity - scan.bytes[i]) / rise;
}

// The widest band of offsets at which the device stays within its capacity, or an empty one.
std::pair<double, double> fitting(const OffsetScan& scan, std::int64_t capacity) {
  std::pair<double, double> widest{0, 0};
  for (std::size_t i = 0; i < scan.bytes.size(); ++i) {
    if (scan.bytes[i] > capacity) continue;
    std::size_t last = i;
    while (last + 1 < scan.bytes.size() && scan.bytes[last + 1] <= capacity) ++last;
    const double from = i == 0 ? 0 : crossing(scan, i - 1, capacity);
    const double to = last + 1 == scan.bytes.size() ? 1 : crossing(scan, last, capacity);
    if (to - from >= widest.second - widest.first) widest = {from, to};
    i = last;
  }
  return widest;
}

void draw_band_of_fits(Drawing& drawing, const Rect& slider, const OffsetScan& scan,
                       std::int64_t capacity) {
  const auto [from, to] = fitting(scan, capacity);
  if (to <= from) return;
  const Rect band{x_at(slider, from), slider.y, x_at(slider, to) - x_at(slider, from),
                  slider.height};
  fill(drawing, band, {.ink = Ink::OkBackground});
  const std::string words = to - from >= 1
                                ? "fits at every offset"
                                : "fits " + two_digits(from) + " to " + two_digits(to) + " T";
  if (text_width(words, 10.5f) + 8 < band.width)
    write(drawing, words, {band.x + band.width / 2, band.y + kFitsHeight / 2}, 10.5f,
          Weight::SemiBold, Ink::Ok, Align::Center);
}

// The words beside the handle's point and under its foot; the offset is the plan's, or that to
// which it is dragged, and the peak the run's, or that of the curve.
struct HandleWords {
  std::string peak, offset;
  Point foot;  // centre of the offset's words
};

HandleWords handle_words(const WavesLayout& layout, const WavesModel& model,
                         const DeviceWaves& waves, double share, std::int64_t bytes) {
  const Rect& slider = layout.slider;
  HandleWords words{
      format_bytes({bytes}),
      two_digits(share) + " T = " + format_step_time(offset_time(model, waves, share)),
      {}};
  const float half = text_width(words.offset, 10.5f, Weight::SemiBold) / 2;
  words.foot = {std::clamp(x_at(slider, share), slider.x + half, slider.right() - half),
                slider.bottom() + 14};
  return words;
}

void draw_handle(Drawing& drawing, const WavesLayout& layout, const HandleWords& words, float x,
                 float y, bool over) {
  const Rect& slider = layout.slider;
  line(drawing, {x, slider.y + kFitsHeight}, {x, slider.bottom()},
       {.ink = Ink::Accent, .stroke = 1.5f});
  disc(drawing, {x, y}, 4, {.ink = Ink::Accent});
  fill(drawing, {x - 5, slider.bottom() - 5, 10, 10},
       {.ink = Ink::Accent, .item = {ItemKind::Other, 1}});
  const float width = tag_width(words.peak);
  const bool left = x + width + 12 > slider.right();
  draw_tag(drawing, words.peak, {left ? x - width - 10 : x + 10, std::max(slider.y + 24, y)}, 16,
           Ink::TipBackground, over ? Ink::Error : Ink::Text);
  write(drawing, words.offset, words.foot, 10.5f, Weight::SemiBold, Ink::Accent, Align::Center);
}

// The names of the marks, but for those that would touch each other or the handle's words.
void draw_marks(Drawing& drawing, const WavesLayout& layout, const WavesModel& model,
                const DeviceWaves& waves, const OffsetScan& scan,
                const std::optional<HandleWords>& handle) {
  const Rect& slider = layout.slider;
  std::vector<OffsetMark> marks = offset_marks(model, waves, scan);
  std::stable_sort(marks.begin(), marks.end(),
                   [](const OffsetMark& a, const OffsetMark& b) { return a.share < b.share; });
  constexpr float kGap = 10;
  const float half = handle ? text_width(handle->offset, 10.5f, Weight::SemiBold) / 2 + kGap : 0;
  float free = slider.x;
  for (const OffsetMark& mark : marks) {
    const float x = x_at(slider, mark.share);
    line(drawing, {x, slider.bottom()}, {x, slider.bottom() + 4}, {.ink = Ink::Axis});
    const std::string words = mark.name + " " + two_digits(mark.share) + " T";
    const float width = text_width(words, 10);
    const float left =
        std::clamp(x - width / 2, slider.x, std::max(slider.x, slider.right() - width));
    if (left < free ||
        (handle && left < handle->foot.x + half && left + width > handle->foot.x - half))
      continue;
    write(drawing, words, {left, slider.bottom() + 14}, 10, Weight::Medium, Ink::Text3);
    free = left + width + kGap;
  }
}

void draw_offset_bar(Drawing& drawing, const Rect& bar, const WavesModel& model,
                     const DeviceWaves& waves, const OffsetScan& scan) {
  const std::string name = model.waves == 1   ? "If a second wave ran beside it"
                           : model.waves == 2 ? "Offset of tock"
                                              : "Offset of each wave";
  const std::string how =
      model.waves == 1  ? "peak memory by offset of a second wave (Tick-Tock schedule)"
      : !scan.simulated ? "peak memory by offset, estimated by shifting one wave"
      : scan.share.empty()
          ? "simulating other offsets..."
          : "drag the handle; " + std::to_string(scan.share.size()) + " simulated offsets";
  const float left = draw_section_bar(drawing, bar, name);
  const float right = end_section_bar(drawing, bar,
                                      "T = " + format_step_time(offset_cycle(model, waves)) +
                                          (model.by_plan ? ", one microbatch" : ", one cycle"),
                                      Ink::Text3);
  write_in_section_bar(drawing, bar, left, right, how, Ink::Text3);
}

}  // namespace

void draw_offset(Drawing& drawing, const WavesLayout& layout, const WavesModel& model,
                 const DeviceWaves& waves, const OffsetScan& scan, const ViewState& state) {
  draw_offset_bar(drawing, layout.offset_bar, model, waves, scan);
  const Rect& slider = layout.slider;
  if (slider.height < 20) return;
  const std::int64_t capacity = capacity_of(model), own_peak = run_peak(waves);
  const std::optional<double> own = own_offset(model, waves);
  const OffsetAxis axis =
      offset_axis(slider, scan, model.waves > 1 ? own_peak : scan.bytes.front(), capacity);
  draw_band_of_fits(drawing, slider, scan, capacity);
  draw_bytes_axis(drawing, slider, axis.scale, axis.from, axis.to);
  {
    const ClipScope clip(drawing, {slider.x, slider.y, slider.width, slider.height + 1});
    std::vector<Point> curve;
    for (std::size_t i = 0; i < scan.bytes.size(); ++i)
      curve.push_back({x_at(slider, scan.share[i]), axis.scale.y(scan.bytes[i])});
    fill(drawing, slider, {.ink = Ink::Canvas, .alpha = 0, .item = {ItemKind::Other, 0}});
    polyline(drawing, curve, {.ink = Ink::Text, .stroke = 1.4f, .item = {ItemKind::Other, 0}});
    draw_limits(drawing, slider, axis.scale,
                {{capacity, "capacity " + format_bytes({capacity}), Ink::Text2}});
  }
  line(drawing, {slider.x, slider.bottom()}, {slider.right(), slider.bottom()}, {.ink = Ink::Axis});
  const std::optional<double> shown = state.wave_offset ? state.wave_offset : own;
  std::optional<HandleWords> words;
  if (shown) {
    const std::int64_t bytes =
        shown == own || scan.bytes.empty() ? own_peak : peak_at_offset(scan, *shown);
    words = handle_words(layout, model, waves, *shown, bytes);
    draw_handle(drawing, layout, *words, x_at(slider, *shown), axis.scale.y(bytes),
                bytes > capacity);
  }
  draw_marks(drawing, layout, model, waves, scan, words);
}

double offset_at(const WavesModel& model, const WavesLayout& layout, float x, bool free) {
  const Rect& slider = layout.slider;
  if (slider.width <= 0) return 0;
  const double share =
      std::clamp(static_cast<double>(x - slider.x) / static_cast<double>(slider.width), 0.0, 1.0);
  if (free) return share;
  const DeviceWaves& waves = model.devices[layout.device.value];
  for (const OffsetMark& mark : offset_marks(model, waves, scan_of(model, layout.device)))
    if (std::abs(x_at(slider, mark.share) - x) <= kSnap) return mark.share;
  return share;
}

}  // namespace trainyard
