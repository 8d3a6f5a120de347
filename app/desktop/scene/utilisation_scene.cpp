#include "app/desktop/scene/utilisation_scene.h"

#include <algorithm>

#include "app/desktop/scene/time_navigator.h"
#include "visualizers/time/timeline_model.h"
#include "visualizers/view_data.h"

namespace trainyard {

ViewState UtilisationScene::state(double scale) const {
  ViewState state = session_.state();
  state.scale = scale;
  return state;
}

UtilisationLayout UtilisationScene::layout() const {
  return utilisation_layout(data().get<TimelineModel>(), area(), session_.state());
}

bool UtilisationScene::take(const InputFrame& frame) {
  const UtilisationLayout now = layout();
  std::optional<TimeRange> range = session_.state().shown;
  if (navigate_time(range, now.shown, {.first = Instant{}, .last = session_.end()}, frame)) {
    session_.show(range);
  } else if (frame.wheel_y != 0) {
    const auto ranks = static_cast<float>(data().get<TimelineModel>().ranks.size());
    const float hidden = std::max(0.f, now.pitch * ranks - now.rows.height);
    session_.scroll_to(std::clamp(session_.state().scroll - 60 * frame.wheel_y, 0.f, hidden));
  }
  if (frame.pressed[0])
    if (const Item item = hit(last_, frame.at); item.kind == ItemKind::Lane) session_.select(item);
  const Rect& plot = now.shown.plot;
  const bool over = frame.inside && frame.at.x >= plot.x && frame.at.x < plot.right();
  session_.set_cursor(
      over ? std::optional<Instant>(time_at(now.shown, static_cast<double>(frame.at.x)))
           : std::nullopt);
  return true;
}

QString UtilisationScene::words() const {
  const Result& result = session_.experiment()->result;
  return QString(
             "Share of time that each pipeline rank computes. Bubble %1 percent, model FLOPs "
             "%2 percent of the dense peak.")
      .arg(100 * result.bubble_fraction, 0, 'f', 1)
      .arg(100 * result.mfu, 0, 'f', 1);
}

}  // namespace trainyard
