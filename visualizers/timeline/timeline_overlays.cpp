#include "visualizers/timeline/timeline_overlays.h"

#include <algorithm>
#include <vector>

#include "visualizers/time/span_search.h"

namespace trainyard {
namespace {

constexpr float kLeastOutlined = 4;          // px of a hit that gets an outline of its own
constexpr std::size_t kMostOutlined = 2000;  // of a frame; with more the ticks above tell where
constexpr float kLifeBar = 3;

// The box of an instruction's span in its lane.
Rect box_of(const TimelineLayout& layout, const TimelineModel& model, InstructionId id) {
  const Stream& stream = model.experiment->program.streams[place_of(model, id).row];
  const Span span = model.experiment->timeline.spans[id.value];
  const Extent e = extent(layout.shown, span.start, span.end);
  const LanePlace lane = lane_place(layout, stream);
  return {e.left, lane.top, e.width(), lane.height};
}

void draw_hits(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
               const SpanHits& hits) {
  const std::vector<Span>& spans = model.experiment->timeline.spans;
  const auto starts_before = [&](InstructionId id, Instant at) {
    return spans[id.value].start < at;
  };
  // A hit that began before what is shown is outlined once it comes into sight.
  auto hit =
      std::lower_bound(hits.spans.begin(), hits.spans.end(), layout.shown.from, starts_before);
  for (std::size_t n = 0; hit != hits.spans.end() && n < kMostOutlined; ++hit, ++n) {
    if (spans[hit->value].start >= layout.shown.to) break;
    const Extent e = extent(layout.shown, spans[hit->value].start, spans[hit->value].end);
    if (e.width() < kLeastOutlined) continue;
    const Rect box = box_of(layout, model, *hit);
    if (box.bottom() < layout.lanes.y || box.y > layout.lanes.bottom()) continue;
    outline(drawing, {box.x - 1, box.y - 1, box.width + 1, box.height + 2},
            {.ink = Ink::Select, .stroke = 1.5f});
  }
}

// Points closer than half a pixel in x become one upright stroke, so that a path of a million steps
// is some thousand points.
class PathLine {
 public:
  void to(float x, float y) {
    if (!points_.empty() && x - at_ < 0.5f) {
      low_ = std::max(low_, y), high_ = std::min(high_, y), last_ = y;
      return;
    }
    finish();
    points_.push_back({x, y});
    at_ = x, low_ = high_ = last_ = y;
  }
  const std::vector<Point>& finish() {
    if (points_.empty()) return points_;
    const Point from = points_.back();
    if (high_ < from.y) points_.push_back({at_, high_});
    if (low_ > from.y) points_.push_back({at_, low_});
    if (last_ != points_.back().y) points_.push_back({at_, last_});
    return points_;
  }

 private:
  std::vector<Point> points_;
  float at_ = 0, low_ = 0, high_ = 0, last_ = 0;
};

void draw_path(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model) {
  const Timeline& timeline = model.experiment->timeline;
  const std::vector<CriticalStep>& steps = model.path.steps;
  const auto first = step_after(model.path, timeline, layout.shown.from);
  if (!first) return;
  PathLine path;
  for (std::size_t i = *first; i < steps.size(); ++i) {
    const Rect box = box_of(layout, model, steps[i].id);
    const float y = box.bottom() + 0.5f;
    path.to(box.x, y);
    path.to(box.right(), y);
    if (timeline.spans[steps[i].id.value].start >= layout.shown.to) break;
  }
  const std::vector<Point> points = path.finish();
  if (points.size() < 2) return;
  polyline(drawing, points, {.ink = Ink::Canvas, .stroke = 4});
  polyline(drawing, points, {.ink = Ink::Select, .stroke = 2});
}

void draw_lives(Drawing& drawing, const TimelineLayout& layout, const ShownLives& shown) {
  const float y = lane_top(layout, shown.device.value) + layout.sizes.pitch - kLifeBar - 1;
  bool named = false;
  for (const TimeRange& life : shown.lives) {
    if (life.to < layout.shown.from || life.from > layout.shown.to) continue;
    const Extent e = extent(layout.shown, life.from, life.to);
    const float width = std::max(2.f, e.width() - 1);
    fill(drawing, {e.left, y, width, kLifeBar}, {.ink = Ink::Select});
    for (const float x : {e.left, e.left + width - 1.5f})
      fill(drawing, {x, y - 4, 1.5f, kLifeBar + 4}, {.ink = Ink::Select});
    if (named) continue;
    named = true;
    const float last = layout.shown.plot.right() - tag_width(shown.name);
    const float left = std::max(layout.shown.plot.x, std::min(e.left, last));
    const float below = y + kLifeBar + 9;
    const bool fits = below + 8 <= layout.lanes.bottom();
    draw_tag(drawing, shown.name, {left, fits ? below : y - 12}, 16, Ink::TipBackground, Ink::Text);
  }
}

}  // namespace

void draw_overlays(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                   const ViewState& state) {
  if (state.hits) draw_hits(drawing, layout, model, *state.hits);
  if (state.critical_path) draw_path(drawing, layout, model);
  if (state.lives && state.lives->device.value < model.ranks.size())
    draw_lives(drawing, layout, *state.lives);
}

}  // namespace trainyard
