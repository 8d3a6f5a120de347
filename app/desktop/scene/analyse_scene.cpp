#include "app/desktop/scene/analyse_scene.h"

#include <algorithm>
#include <cmath>

#include "app/desktop/scene/time_navigator.h"
#include "visualizers/analyse/analyse_view.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/time/memory_model.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr double kSnap = 6;  // px

TimeLimits limits(Instant end) { return {.first = Instant{}, .last = end}; }

}  // namespace

Rect AnalyseScene::timeline_area() const { return analyse_layout(data(), last_.size).timeline; }

Viewport AnalyseScene::shown() const {
  return timeline_layout(data().get<TimelineModel>(), timeline_area(), session_.state()).shown;
}

ViewState AnalyseScene::state(double scale) const {
  ViewState state = session_.state();
  state.scale = scale;
  return state;
}

Drawing AnalyseScene::draw(Size size, double scale) {
  last_.size = size;
  if (session_.data() != nullptr) follow_selection();
  return ViewScene::draw(size, scale);
}

Item AnalyseScene::item_at(Point p) const { return hit(last_, p); }

QString AnalyseScene::words() const {
  const Result& result = session_.experiment()->result;
  const TimeRange shown = session_.shown();
  QString text = QString("Timeline of %1 pipeline ranks and their memory, from %2 to %3. %4")
                     .arg(data().get<TimelineModel>().ranks.size())
                     .arg(QString::fromStdString(spell_duration(shown.from)),
                          QString::fromStdString(spell_duration(shown.to)),
                          QString::fromStdString(result.verdict.sentence));
  if (const Item item = session_.state().selected; item.kind != ItemKind::None) {
    const Hover hover =
        describe_timeline(data().get<TimelineModel>(), timeline_area(), session_.state(), item);
    text += QString(" Selected: %1, %2, %3.")
                .arg(QString::fromStdString(hover.title), QString::fromStdString(hover.where),
                     QString::fromStdString(hover.value));
  }
  if (const auto& shown_lives = session_.state().lives)
    text += QString(" Drawn: the lives of %1 on rank %2, %3 of them.")
                .arg(QString::fromStdString(shown_lives->name))
                .arg(shown_lives->device.value)
                .arg(shown_lives->lives.size());
  return text;
}

Qt::CursorShape AnalyseScene::shape(Point p) const {
  const TimelineLayout layout =
      timeline_layout(data().get<TimelineModel>(), timeline_area(), session_.state());
  if (contains(layout.overview, p)) return Qt::OpenHandCursor;
  return contains(layout.ruler, p) ? Qt::IBeamCursor : Qt::ArrowCursor;
}

bool AnalyseScene::take(const InputFrame& frame) {
  const bool steps = frame.pressed[0] || frame.pressed[2];
  if (steps) exploration_.rest();
  std::optional<TimeRange> range = session_.state().shown;
  if (navigate_time(range, shown(), limits(session_.end()), frame))
    session_.show(range);
  else if (frame.wheel_y != 0)
    wheel(frame);
  for (int k : frame.keys) key(k, frame);
  if (steps) press(frame);
  if (frame.down[0] || frame.down[2]) drag(frame);
  if (frame.released[0] || frame.released[2]) release(frame);
  follow_pointer(frame);
  exploration_.record(true);
  before_ = frame.at;
  return true;
}

// The cursor goes where the pointer goes, and stays where a key has put it until that moves.
void AnalyseScene::follow_pointer(const InputFrame& frame) {
  const bool moved = !(frame.at == before_) || frame.inside != inside_;
  inside_ = frame.inside;
  if (!moved || drag_ == Drag::Pan) return;
  const Viewport view = shown();
  const bool over_plot =
      frame.inside && frame.at.x >= view.plot.x && frame.at.x < view.plot.right();
  session_.set_cursor(over_plot ? std::optional<Instant>(time_at(view, frame.at.x)) : std::nullopt);
}

// What was selected since the last picture, by whomever, has its lane in sight.
void AnalyseScene::follow_selection() {
  const Item selected = session_.state().selected;
  if (selected == followed_) return;
  followed_ = selected;
  if (selected.kind != ItemKind::Span) return;
  const TimelineLayout layout =
      timeline_layout(data().get<TimelineModel>(), timeline_area(), session_.state());
  const float top = lane_top(layout, session_.selected_rank());
  const float above = layout.lanes.y - (top - 2),
              below = top + layout.sizes.pitch - layout.lanes.bottom();
  if (above > 0)
    session_.scroll_to(layout.shown.scroll - above);
  else if (below > 0)
    session_.scroll_to(layout.shown.scroll + below);
}

void AnalyseScene::press(const InputFrame& frame) {
  pressed_ = frame.at;
  if (frame.twice) fit_span(item_at(frame.at));
  const TimelineLayout layout =
      timeline_layout(data().get<TimelineModel>(), timeline_area(), session_.state());
  if (frame.pressed[2]) {
    drag_ = Drag::Pan;
  } else if (contains(layout.overview, frame.at)) {
    drag_ = Drag::Window;
  } else if (frame.at.x >= layout.shown.plot.x) {
    drag_ = Drag::Range;
    anchor_ = snapped(frame.at, frame.modifiers & kAlt);
  }
}

void AnalyseScene::drag(const InputFrame& frame) {
  const float moved = std::abs(frame.at.x - pressed_.x);
  if (drag_ == Drag::Pan) {
    const Viewport moved_to =
        pan(shown(), static_cast<double>(frame.at.x - before_.x), limits(session_.end()));
    session_.show(TimeRange{moved_to.from, moved_to.to});
  } else if (drag_ == Drag::Window) {
    const TimelineLayout layout =
        timeline_layout(data().get<TimelineModel>(), timeline_area(), session_.state());
    session_.show(
        dragged_to(layout.strip, {layout.shown.from, layout.shown.to}, frame.at.x, session_.end()));
  } else if (drag_ == Drag::Range && moved > kClick) {
    const Instant here = snapped(frame.at, frame.modifiers & kAlt);
    session_.set_range(TimeRange{std::min(anchor_, here), std::max(anchor_, here)});
  }
}

void AnalyseScene::release(const InputFrame& frame) {
  const bool moved =
      std::abs(frame.at.x - pressed_.x) > kClick || std::abs(frame.at.y - pressed_.y) > kClick;
  if (!moved && frame.released[0]) click(frame.at);
  if (const auto range = session_.state().range; range && range->length() <= Duration{})
    session_.set_range({});
  drag_ = Drag::None;
}

void AnalyseScene::click(Point p) {
  const Item item = item_at(p);
  if (item.kind == ItemKind::Other && item.tag >= kMarkTag)
    return exploration_.go_to_mark(item.tag - kMarkTag);
  if (item.kind == ItemKind::Wave || item.kind == ItemKind::Peak) {
    const DeviceId device{static_cast<std::uint32_t>(item.tag)};
    const StepCurve& curve = data().get<MemoryModel>().totals[device.value];
    session_.expand(device);
    exploration_.pin(device, item.kind == ItemKind::Peak ? peak_at(curve) : time_at(shown(), p.x));
  } else if (contains(timeline_area(), p)) {
    session_.select(item);
  }
}

void AnalyseScene::fit_span(Item item) {
  if (item.kind != ItemKind::Span) return;
  session_.select(item);
  fit_selection();
}

void AnalyseScene::wheel(const InputFrame& frame) {
  const TimelineModel& model = data().get<TimelineModel>();
  const TimelineLayout layout = timeline_layout(model, timeline_area(), session_.state());
  const float step = 3 * kFullLanes.pitch * frame.wheel_y;
  session_.scroll_to(
      std::clamp(layout.shown.scroll - step, 0.0F, lanes_overhang(layout, model.ranks.size())));
}

void AnalyseScene::key(int key, const InputFrame& frame) {
  switch (key) {
    case Qt::Key_F:
      return fit_selection();
    case Qt::Key_R:
      return exploration_.set_every_rank(!session_.state().every_rank);
    case Qt::Key_P:
      return exploration_.next_peak();
    case Qt::Key_B:
      return exploration_.next_bubble();
    case Qt::Key_C:
      return exploration_.walk_path(frame.modifiers & kShift ? -1 : +1);
    case Qt::Key_BracketLeft:
      return exploration_.walk_name(-1);
    case Qt::Key_BracketRight:
      return exploration_.walk_name(+1);
    case Qt::Key_Comma:
      return exploration_.walk_device(-1);
    case Qt::Key_Period:
      return exploration_.walk_device(+1);
    case Qt::Key_M:
      if (frame.modifiers & kShift) return Q_EMIT exploration_.note_wanted();
      return exploration_.toggle_mark();
    case Qt::Key_Slash:
      return Q_EMIT exploration_.search_wanted();
    case Qt::Key_Left:
      return walk(-1, 0);
    case Qt::Key_Right:
      return walk(+1, 0);
    case Qt::Key_Up:
      return walk(0, -1);
    case Qt::Key_Down:
      return walk(0, +1);
    case Qt::Key_Escape:
      session_.set_range({});
      exploration_.set_critical_path(false);
      exploration_.unpin();
      return session_.select({});
    default:
      return;
  }
}

void AnalyseScene::fit_selection() {
  TimeRange wanted = session_.range();
  const Item item = session_.state().selected;
  if (item.kind == ItemKind::Span && item.tag < session_.experiment()->timeline.spans.size()) {
    const Span span = session_.experiment()->timeline.spans[item.tag];
    wanted = {span.start - span.length() / 2, span.end + span.length() / 2};
  }
  const Viewport view = fit(shown(), wanted.from, wanted.to, limits(session_.end()));
  session_.show(TimeRange{view.from, view.to});
}

void AnalyseScene::walk(int columns, int rows) {
  const TimelineModel& model = data().get<TimelineModel>();
  if (model.ranks.empty()) return;
  std::size_t rank = session_.selected_rank();
  const Item now = session_.state().selected;
  const bool on_span = now.kind == ItemKind::Span;
  Instant at = session_.shown().from;
  if (on_span) at = session_.experiment()->timeline.spans[now.tag].start;
  rank = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(rank) + rows, 0,
                                 static_cast<std::ptrdiff_t>(model.ranks.size()) - 1));
  if (model.ranks[rank].compute.empty()) return;
  std::uint32_t row = model.ranks[rank].compute.front();
  if (on_span && rows == 0)
    row = place_of(model, InstructionId{static_cast<std::uint32_t>(now.tag)}).row;
  const std::uint32_t count = model.spans.rows[row].count;
  if (count == 0) return;
  std::uint32_t index = std::min(window(model.spans, row, at, model.end).first, count - 1);
  if (on_span && rows == 0)
    index = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(std::int64_t{index} + columns, 0, std::int64_t{count} - 1));
  exploration_.select_span(instruction_at(model, row, index));
}

// To the nearest end of a span in the row under the pointer, else to where the pointer is.
Instant AnalyseScene::snapped(Point p, bool free) const {
  const Viewport view = shown();
  const Instant here = time_at(view, p.x);
  if (free) return here;
  const TimelineModel& model = data().get<TimelineModel>();
  const TimelineLayout layout = timeline_layout(model, timeline_area(), session_.state());
  Instant best = here;
  double nearest = kSnap;
  const Duration reach{static_cast<std::int64_t>(kSnap * ns_per_px(view)) + 1};
  for (std::size_t rank = 0; rank < model.ranks.size(); ++rank) {
    const float top = lane_top(layout, rank);
    const bool under = p.y >= top && p.y < top + layout.sizes.pitch;
    if (!under || model.ranks[rank].compute.empty()) continue;
    const std::uint32_t row = model.ranks[rank].compute.front();
    const SpanWindow spans = window(model.spans, row, here - reach, here + reach);
    for (std::uint32_t i = spans.first; i < std::min(spans.last, spans.first + 64); ++i) {
      const RowSpan span = span_at(model.spans, row, i);
      for (const Instant edge : {span.start, span.end}) {
        const double away = std::abs(x_of(view, edge) - static_cast<double>(p.x));
        if (away < nearest) nearest = away, best = edge;
      }
    }
  }
  return best;
}

}  // namespace trainyard
