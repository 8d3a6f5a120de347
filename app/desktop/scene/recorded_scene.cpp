#include "app/desktop/scene/recorded_scene.h"
#include "app/desktop/controls/canvas_widget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/desktop/scene/time_navigator.h"
#include "app/desktop/scene/tip.h"

namespace trainyard {
void RecordedScene::set_model(std::shared_ptr<const RecordedModel> model, const QString& words) {
  if (model != model_) {
    state_ = {};
    marks_ = {};
  }
  model_ = std::move(model);
  words_ = words;
}

void RecordedScene::show_span(std::uint64_t number) {
  if (!model_ || number >= model_->spans.start.size()) return;
  const RecordedPlace place = recorded_place(*model_, number);
  const RowSpan span = span_at(model_->spans, place.row, place.index);
  state_.selected = {ItemKind::Span, number};
  const Viewport now = layout().shown;
  // Where it is in sight and wide enough to be seen, nothing moves.
  const double px = to_seconds(span.end - span.start) * 1e9 / ns_per_px(now);
  if (span.start < now.from || span.end > now.to || px < 6) {
    const Duration around = std::max(Duration{1000}, (span.end - span.start) * 10);
    show(fit(now, span.start - around, span.end + around, limits()));
  }
  for (std::size_t i = 0; i < model_->lanes.size(); ++i) {
    const RecordedLane& lane = model_->lanes[i];
    if (lane.counter || place.row < lane.first || place.row >= lane.first + lane.rows) continue;
    const RecordedLayout l = layout();
    const float top = recorded_lane_top(*model_, l, i);
    if (top < l.lanes.y || top > l.lanes.bottom() - 40) scroll_by(top - l.lanes.y - 40);
  }
  turned_();
}

Drawing RecordedScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  if (!model_) {
    write(last_, words_.toStdString(), {12, 24}, 12, Weight::Regular, Ink::Text2);
    return last_;
  }
  state_.scale = scale;
  scroll_by(0);
  draw_recorded(last_, area(), *model_, state_, marks_);
  return last_;
}

void RecordedScene::show(const Viewport& view) {
  const Viewport kept = clamp(view, limits());
  state_.shown = TimeRange{kept.from, kept.to};
}

void RecordedScene::scroll_by(float dy) {
  const float over = std::max(0.F, recorded_height(*model_) - layout().lanes.height);
  state_.scroll = std::clamp(state_.scroll + dy, 0.F, over);
}

bool RecordedScene::key(int pressed) {
  const Viewport now = layout().shown;
  switch (pressed) {
    case Qt::Key_Down:
      return scroll_by(kScrollStep), true;
    case Qt::Key_Up:
      return scroll_by(-kScrollStep), true;
    case Qt::Key_F:
      if (state_.range)
        show(fit(now, state_.range->from, state_.range->to, limits()));
      else if (state_.selected.kind == ItemKind::Span) {
        const RecordedPlace place = recorded_place(*model_, state_.selected.tag);
        const RowSpan span = span_at(model_->spans, place.row, place.index);
        show(fit(now, span.start, span.end, limits()));
      }
      return true;
    case Qt::Key_Escape:
      state_.range.reset();
      state_.selected = {};
      turned_();
      return true;
    default:
      return false;
  }
}

void RecordedScene::click(Point p) {
  const Item item = hit(last_, p);
  state_.selected = item.kind == ItemKind::Span ? item : Item{};
  state_.range.reset();
  turned_();
}

bool RecordedScene::mouse(const InputFrame& frame) {
  const RecordedLayout l = layout();
  if (frame.pressed[0]) {
    pressed_ = frame.at;
    dragging_ = contains(l.lanes, frame.at) || contains(l.ruler, frame.at);
    if (contains(l.overview, frame.at)) {
      const Instant middle = time_at(l.whole, frame.at.x);
      const Duration half = (l.shown.to - l.shown.from) / 2;
      show(fit(l.shown, middle - half, middle + half, limits()));
    }
    return true;
  }
  if (frame.down[0] && dragging_ && std::abs(frame.at.x - pressed_.x) > kClick) {
    const Instant a = std::clamp(time_at(l.shown, pressed_.x), model_->begin, model_->end);
    const Instant b = std::clamp(time_at(l.shown, frame.at.x), model_->begin, model_->end);
    state_.range = TimeRange{std::min(a, b), std::max({a, b, std::min(a, b) + Duration{1}})};
    return true;
  }
  if (frame.released[0] && dragging_) {
    dragging_ = false;
    if (std::abs(frame.at.x - pressed_.x) <= kClick)
      click(frame.at);
    else
      turned_();
    return true;
  }
  return false;
}

bool RecordedScene::input(const InputFrame& frame) {
  if (!model_) return false;
  bool moved = mouse(frame);
  if (navigate_time(state_.shown, layout().shown, limits(), frame))
    moved = true;
  else if (frame.wheel_y != 0)
    scroll_by(-kScrollStep * frame.wheel_y), moved = true;
  for (const int pressed : frame.keys) moved = key(pressed) || moved;
  return moved;
}

QString RecordedScene::tooltip(Point p) {
  if (!model_) return {};
  const Hover hover = describe_recorded(*model_, area(), state_, hit(last_, p), p);
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString RecordedScene::description() const {
  return model_ ? QString::fromStdString(spell_recorded(*model_)) : words_;
}

}  // namespace trainyard
