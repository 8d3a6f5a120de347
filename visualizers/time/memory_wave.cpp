#include "visualizers/time/memory_wave.h"

#include <algorithm>
#include <cmath>

#include "visualizers/chart/axes.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {
namespace {

int pixels(const Rect& plot, double scale) {
  return static_cast<int>(std::clamp(std::lround(double{plot.width} * scale), 1L, 16384L));
}

std::vector<std::size_t> highest_samples(const StepCurve& curve, const Viewport& v, int count) {
  std::vector<std::size_t> samples;
  highest_of(curve, v.from, v.to, count, samples);
  return samples;
}

}  // namespace

ByteScale scale_of(const Rect& area, std::int64_t highest, float headroom) {
  const double room = std::max(1.f, area.height - headroom);
  return {area.bottom(), room / static_cast<double>(std::max<std::int64_t>(1, highest))};
}

void draw_bytes_axis(Drawing& drawing, const Rect& plot, const ByteScale& scale, double from,
                     double to) {
  constexpr float kApart = 20, kBelowTop = 16;  // px between lines, and that no line reaches
  const double unit = to >= 1 << 30 ? 1 << 30 : 1 << 20;
  const double step = unit * round_step(kApart / (unit * scale.px_per_byte));
  const auto y_of = [&](double bytes) { return scale.y(static_cast<std::int64_t>(bytes)); };
  for (double n = std::ceil(from / step); n * step <= to; ++n) {
    const float y = y_of(n * step);
    if (y < plot.y + kBelowTop) break;
    const bool last = (n + 1) * step > to || y_of((n + 1) * step) < plot.y + kBelowTop;
    line(drawing, {plot.x, y}, {plot.right(), y}, {.ink = Ink::Grid});
    write(drawing,
          digits_text(n * step / unit) + (!last            ? ""
                                          : unit > 1 << 20 ? " GiB"
                                                           : " MiB"),
          {plot.x - 8, std::min(y, plot.bottom() - 5)}, 10, Weight::Medium, Ink::Text3,
          Align::Right);
  }
}

WavePainter::WavePainter(Drawing& drawing, const MemoryModel& model, DeviceId device,
                         const Viewport& v, double scale)
    : drawing_(drawing),
      wave_(model.experiment->waves[device.value]),
      curve_(model.totals[device.value]),
      item_{ItemKind::Wave, device.value},
      highest_(highest_samples(curve_, v, pixels(v.plot, scale))) {}

void WavePainter::stack(const Rect& plot, const ByteScale& scale) {
  std::vector<std::int64_t> below(highest_.size());
  for (int c = 0; c < kCategories; ++c)
    band(plot, scale, static_cast<std::size_t>(c), static_cast<std::size_t>(c) + 1,
         ink_of(static_cast<Category>(c)), below);
}

void WavePainter::stack(const Rect& plot, const ByteScale& scale, const MemoryStack& parts) {
  std::vector<std::int64_t> below(highest_.size());
  std::vector<Column> list(highest_.size());
  for (const StackBand& part : parts.bands) {
    bool any = false;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::int64_t bytes = part.bytes[highest_[i]];
      list[i] = {scale.y(below[i] + bytes), scale.y(below[i])};
      below[i] += bytes;
      any |= bytes > 0;
    }
    if (any) columns(drawing_, plot, list, {.ink = part.ink, .item = item_});
  }
}

void WavePainter::summary(const Rect& plot, const ByteScale& scale) {
  constexpr auto kFirstTransient = static_cast<std::size_t>(Category::Activations);
  std::vector<std::int64_t> below(highest_.size());
  band(plot, scale, 0, kFirstTransient, Ink::MemoryWeights, below);
  band(plot, scale, kFirstTransient, kCategories, Ink::MemoryActivations, below);
}

void WavePainter::top_line(const Rect& plot, const ByteScale& scale, float thickness, Ink ink) {
  std::vector<Column> line(highest_.size());
  float before = top_of(scale, 0);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const float y = top_of(scale, i);
    line[i] = {std::min(y, before) - thickness / 2, std::max(y, before) + thickness / 2};
    before = y;
  }
  columns(drawing_, plot, line, {.ink = ink});
}

// Draws a rectangle for each run of equal heights.
void WavePainter::overflow(const Rect& plot, const ByteScale& scale, std::int64_t capacity) {
  const float width = plot.width / static_cast<float>(highest_.size()), limit = scale.y(capacity);
  for (std::size_t i = 0; i < highest_.size();) {
    const float top = top_of(scale, i);
    std::size_t next = i + 1;
    while (next < highest_.size() && std::abs(top_of(scale, next) - top) < 0.5f) ++next;
    if (top < limit)
      hatch(drawing_,
            {plot.x + width * static_cast<float>(i), top, width * static_cast<float>(next - i),
             limit - top},
            Pattern::Overflow, item_);
    i = next;
  }
}

float WavePainter::top_of(const ByteScale& scale, std::size_t i) const {
  return scale.y(curve_.value[highest_[i]]);
}

// Draws categories [first, last) as one band on top of `below`, and raises `below` by it.
void WavePainter::band(const Rect& plot, const ByteScale& scale, std::size_t first,
                       std::size_t last, Ink ink, std::vector<std::int64_t>& below) {
  std::vector<Column> list(highest_.size());
  bool any = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::int64_t bytes = 0;
    for (std::size_t c = first; c < last; ++c) bytes += wave_.samples[highest_[i]].bytes[c].value;
    list[i] = {scale.y(below[i] + bytes), scale.y(below[i])};
    below[i] += bytes;
    any |= bytes > 0;
  }
  if (any) columns(drawing_, plot, list, {.ink = ink, .item = item_});
}

}  // namespace trainyard
