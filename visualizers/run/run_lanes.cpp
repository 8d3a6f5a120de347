#include "visualizers/run/run_lanes.h"

#include <algorithm>
#include <cmath>

#include "visualizers/run/run_readings.h"
#include "visualizers/time/timeline_model.h"

namespace trainyard {
namespace {

// Spans of one row, in order of time. What is narrower than a pixel shares one: the longest shows.
class RowPainter {
 public:
  RowPainter(Drawing& drawing, const Viewport& view, const Program& program, float y, float height,
             Tile::Kind kind)
      : drawing_(drawing), view_(view), program_(program), y_(y), height_(height), kind_(kind) {}
  ~RowPainter() {
    flush();
    if (first_ < drawing_.tiles.size())
      strip(drawing_, first_,
            {view_.plot.x - kBeyondPlot, y_, view_.plot.width + 2 * kBeyondPlot, height_});
  }
  RowPainter(const RowPainter&) = delete;
  RowPainter& operator=(const RowPainter&) = delete;

  void add(const Span& span, std::uint32_t tag) {
    if (span.end <= view_.from || span.start >= view_.to) return;
    if (span.start < within_.from || span.end > within_.to) {
      const Extent e = extent(view_, span.start, span.end);
      if (e.width() >= 1.5f) {
        flush();
        tile(e.left, e.width(), tag);
        return;
      }
      const float pixel = std::floor(e.left);
      if (pixel != pixel_) enter(pixel);
    }
    if (span.length() < longest_) return;
    longest_ = span.length(), tag_ = tag;
  }

 private:
  void tile(float x, float width, std::uint32_t tag) {
    drawing_.tiles.push_back({{x, y_, width, height_},
                              tag,
                              ItemKind::Span,
                              ink_of(program_.task(InstructionId{tag})),
                              kind_});
  }
  void flush() {
    if (longest_ >= Duration{}) tile(pixel_, 1, tag_);
    longest_ = Duration{-1}, pixel_ = -1e9f;
    within_ = kNowhere;
  }
  void enter(float pixel) {
    flush();
    pixel_ = pixel;
    within_ = {time_at(view_, double{pixel} + 1e-3), time_at(view_, double{pixel} + 1 - 1e-3)};
  }

  static constexpr TimeRange kNowhere{Instant{1}, Instant{0}};
  Drawing& drawing_;
  const Viewport& view_;
  const Program& program_;
  float y_, height_, pixel_ = -1e9f;
  Tile::Kind kind_;
  std::size_t first_ = drawing_.tiles.size();
  // Surely in the pixel: of a long run nearly all spans are, and need no place of their own.
  TimeRange within_ = kNowhere;
  Duration longest_{-1};
  std::uint32_t tag_ = 0;
};

// Rows of several streams lie in one: by start, whichever stream they are of.
void draw_run_row(Drawing& drawing, const Viewport& view, const Program& program,
                  const std::vector<Span>& spans, DeviceId device, bool compute, float y,
                  float height, Tile::Kind kind) {
  std::vector<const Stream*> streams;
  for (const Stream& stream : program.streams)
    if (stream.device == device && stream.compute == compute) streams.push_back(&stream);
  RowPainter painter(drawing, view, program, y, height, kind);
  const auto measured = [&](const auto& take) {
    for (const Stream* stream : streams)
      for (std::uint32_t i = stream->first; i < stream->first + stream->count; ++i)
        if (i < spans.size() && spans[i].end >= spans[i].start) take(i);
  };
  if (streams.size() < 2) return measured([&](std::uint32_t i) { painter.add(spans[i], i); });
  std::vector<std::uint32_t> list;
  measured([&](std::uint32_t i) { list.push_back(i); });
  std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
    return spans[a].start < spans[b].start;
  });
  for (const std::uint32_t i : list) painter.add(spans[i], i);
}

}  // namespace

void draw_run_lanes(Drawing& drawing, const Rect& rank, const Viewport& view, const RunModel& model,
                    DeviceId device) {
  const Program& program = model.predicted->program;
  const float measured = rank.y + kGhostLane + 1;
  hatch(drawing, {view.plot.x, measured, view.plot.width, kMeasuredLane}, Pattern::Idle);
  draw_run_row(drawing, view, program, model.predicted->timeline.spans, device, true, rank.y,
               kGhostLane, Tile::Kind::Fill);
  fill(drawing, {view.plot.x, rank.y, view.plot.width, kGhostLane},
       {.ink = Ink::Canvas, .alpha = 0.5f});
  draw_run_row(drawing, view, program, model.spans, device, true, measured, kMeasuredLane,
               Tile::Kind::Box);
  draw_run_row(drawing, view, program, model.spans, device, false, measured + kMeasuredLane + 1,
               kTransfers, Tile::Kind::Fill);
}

void draw_deviation(Drawing& drawing, const Rect& rank, const Viewport& view,
                    const RunDeviation& furthest) {
  if (furthest.measured.end <= view.from || furthest.measured.start >= view.to) return;
  const Extent e = extent(view, furthest.measured.start, furthest.measured.end);
  const Rect box{e.left, rank.y + kGhostLane + 1, std::max(3.f, e.width()), kMeasuredLane};
  frame_selected(drawing, box, 3);
  if (std::abs(furthest.share()) <= kStepLimit) return;
  const float x = box.x + box.width / 2, y = rank.y - 1;
  polygon(drawing, {{x, y - 2}, {x + 7, y + 9}, {x - 7, y + 9}}, {.ink = Ink::Canvas});
  polygon(drawing, {{x, y}, {x + 5, y + 8}, {x - 5, y + 8}}, {.ink = Ink::Warn});
}

}  // namespace trainyard
