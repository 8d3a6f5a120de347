#include <algorithm>
#include <cmath>
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

// The axis reaches from a little below the lowest value of the scan to a little above the highest
// one.
ByteScale offset_scale(const Rect& slider, const OffsetScan& scan, std::int64_t capacity,
                       double& from) {
  const auto [low, high] = std::minmax_element(scan.bytes.begin(), scan.bytes.end());
  double top = static_cast<double>(*high);
  from = static_cast<double>(*low);
  // The capacity is shown if it is near.
  const double span = std::max(1.0, top - from);
  const auto line = static_cast<double>(capacity);
  if (line > top && line < top + span) top = line;
  if (line < from && line > from - span) from = line;
  from = std::max(0.0, from - 0.15 * std::max(1.0, top - from));
  const double px =
      static_cast<double>(std::max(1.f, slider.height - 10)) / std::max(1.0, top - from);
  return {slider.bottom() + static_cast<float>(px * from), px};
}

// The widest band of offsets at which the device stays within its capacity, or an empty one.
std::pair<double, double> fitting(const OffsetScan& scan, std::int64_t capacity) {
  std::pair<double, double> widest{0, 0};
  for (std::size_t i = 0; i < scan.bytes.size(); ++i) {
    if (scan.bytes[i] > capacity) continue;
    std::size_t last = i;
    while (last + 1 < scan.bytes.size() && scan.bytes[last + 1] <= capacity) ++last;
    const double from = static_cast<double>(i) / kOffsetSteps,
                 to = static_cast<double>(last) / kOffsetSteps;
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
    write(drawing, words, {band.x + band.width / 2, band.y + 9}, 10.5f, Weight::SemiBold, Ink::Ok,
          Align::Center);
}

void draw_handle(Drawing& drawing, const WavesLayout& layout, const WavesModel& model,
                 const DeviceWaves& waves, const OffsetScan& scan, const ByteScale& scale,
                 double share) {
  const Rect& slider = layout.slider;
  const float x = x_at(slider, share);
  const std::int64_t bytes = peak_at_offset(scan, share);
  const float y = scale.y(bytes);
  const Item item{ItemKind::Other, 1};
  line(drawing, {x, slider.y}, {x, slider.bottom()}, {.ink = Ink::Accent, .stroke = 1.5f});
  disc(drawing, {x, y}, 4, {.ink = Ink::Accent});
  fill(drawing, {x - 5, slider.bottom() - 5, 10, 10}, {.ink = Ink::Accent, .item = item});
  const std::string peak = format_bytes({bytes});
  const bool left = x + tag_width(peak) + 12 > slider.right();
  draw_tag(drawing, peak, {left ? x - tag_width(peak) - 10 : x + 10, std::max(slider.y + 24, y)},
           16, Ink::TipBackground, bytes > capacity_of(model) ? Ink::Error : Ink::Text);
  const auto shift =
      Duration{static_cast<std::int64_t>(share * static_cast<double>(waves.cycle.period.count()))};
  const std::string words = two_digits(share) + " T = " + format_step_time(shift);
  const float width = text_width(words, 10.5f, Weight::SemiBold);
  const float at = std::clamp(x, slider.x + width / 2, slider.right() - width / 2);
  const Rect behind{at - width / 2 - 4, slider.bottom() + 6, width + 8, 16};
  fill(drawing, behind, {.ink = Ink::Canvas});
  write(drawing, words, {at, slider.bottom() + 14}, 10.5f, Weight::SemiBold, Ink::Accent,
        Align::Center);
}

void draw_marks(Drawing& drawing, const WavesLayout& layout, const WavesModel& model,
                const DeviceWaves& waves, const OffsetScan& scan) {
  const Rect& slider = layout.slider;
  std::vector<OffsetMark> marks = offset_marks(model, waves, scan);
  std::stable_sort(marks.begin(), marks.end(),
                   [](const OffsetMark& a, const OffsetMark& b) { return a.share < b.share; });
  float free = slider.x;
  for (const OffsetMark& mark : marks) {
    const float x = x_at(slider, mark.share);
    line(drawing, {x, slider.bottom()}, {x, slider.bottom() + 4}, {.ink = Ink::Axis});
    const std::string words = mark.name + " " + two_digits(mark.share) + " T";
    const float width = text_width(words, 10);
    const float left =
        std::clamp(x - width / 2, slider.x, std::max(slider.x, slider.right() - width));
    if (left < free) continue;
    write(drawing, words, {left, slider.bottom() + 14}, 10, Weight::Medium, Ink::Text3);
    free = left + width + 10;
  }
}

}  // namespace

void draw_offset(Drawing& drawing, const WavesLayout& layout, const WavesModel& model,
                 const DeviceWaves& waves, const OffsetScan& scan, const ViewState& state) {
  const Rect& bar = layout.offset_bar;
  const std::string name = model.waves == 1   ? "If a second wave ran beside it"
                           : model.waves == 2 ? "Offset of tock"
                                              : "Offset of each wave";
  const std::string how =
      model.waves == 1 ? "peak memory at every offset between two such waves; schedule=tick-tock"
                       : "drag the handle: peak memory at every offset, exact at " +
                             std::to_string(kOffsetSteps) + " positions";
  const float left = draw_section_bar(drawing, bar, name);
  const float right = end_section_bar(
      drawing, bar, "T = " + format_step_time(waves.cycle.period) + ", one wave's cycle",
      Ink::Text3);
  write_in_section_bar(drawing, bar, left, right, how, Ink::Text3);
  const Rect& slider = layout.slider;
  if (slider.height < 20) return;
  double from = 0;
  const ByteScale scale = offset_scale(slider, scan, capacity_of(model), from);
  draw_band_of_fits(drawing, slider, scan, capacity_of(model));
  draw_bytes_axis(drawing, slider, scale, from,
                  static_cast<double>(*std::max_element(scan.bytes.begin(), scan.bytes.end())));
  {
    const ClipScope clip(drawing, {slider.x, slider.y, slider.width, slider.height + 1});
    std::vector<Point> curve;
    for (std::size_t i = 0; i < scan.bytes.size(); ++i)
      curve.push_back(
          {x_at(slider, static_cast<double>(i) / kOffsetSteps), scale.y(scan.bytes[i])});
    fill(drawing, slider, {.ink = Ink::Canvas, .alpha = 0, .item = {ItemKind::Other, 0}});
    polyline(drawing, curve, {.ink = Ink::Text, .stroke = 1.4f, .item = {ItemKind::Other, 0}});
    const float limit = scale.y(capacity_of(model));
    if (limit > slider.y && limit < slider.bottom())
      draw_limit(drawing, slider, limit, "capacity " + format_bytes({capacity_of(model)}),
                 Ink::Text2, 6);
  }
  line(drawing, {slider.x, slider.bottom()}, {slider.right(), slider.bottom()}, {.ink = Ink::Axis});
  draw_marks(drawing, layout, model, waves, scan);
  if (model.waves > 1 || state.wave_offset)
    draw_handle(drawing, layout, model, waves, scan, scale,
                state.wave_offset.value_or(offset_share(waves)));
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
