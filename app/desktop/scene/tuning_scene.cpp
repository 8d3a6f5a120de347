#include "app/desktop/scene/tuning_scene.h"

#include "app/desktop/controls/text.h"
#include "app/desktop/scene/tip.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

QString words_of(const TuningSession& tuning) {
  if (tuning.running()) return "The first trial is under way …";
  if (tuning.error()) return "The tuning did not begin; the question says why.";
  return tuning.report().arms.empty()
             ? "Nothing has been tuned yet. Add a setting with the values to try, then press Tune."
             : "It was stopped before the first trial was done.";
}

Drawing TuningScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  const TuneReport& report = tuning_.report();
  if (report.trials.empty()) {
    write(last_, words_of(tuning_).toStdString(), {12, 24}, 12, Weight::Regular, Ink::Text2);
    return last_;
  }
  ViewState state;
  state.scale = scale;
  if (chosen_) state.selected = tuning_item(*chosen_);
  draw_tuning(last_, whole(size), report, state);
  return last_;
}

std::optional<std::size_t> TuningScene::trial_at(Point at) const {
  const Item item = hit(last_, at);
  const bool known = item.kind == ItemKind::Dot && item.tag < tuning_.report().trials.size();
  return known ? std::optional<std::size_t>(item.tag) : std::nullopt;
}

bool TuningScene::take(std::optional<std::size_t> trial) {
  if (!trial || *trial >= tuning_.report().trials.size()) return false;
  told_.chosen(*trial);
  return true;
}

bool TuningScene::key(int key) {
  switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Up:
      return take(!chosen_ ? 0 : *chosen_ > 0 ? std::optional(*chosen_ - 1) : std::nullopt);
    case Qt::Key_Right:
    case Qt::Key_Down:
      return take(chosen_ ? *chosen_ + 1 : 0);
    case Qt::Key_Home:
      return take(tuning_.report().best);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (chosen_) told_.applied();
      return false;
    default:
      return false;
  }
}

bool TuningScene::input(const InputFrame& frame) {
  if (tuning_.report().trials.empty()) return false;
  bool again = false;
  if (frame.pressed[0]) {
    again = take(trial_at(frame.at));
    if (again && frame.twice) told_.applied();
  }
  for (const int each : frame.keys) again |= key(each);
  return again;
}

QString TuningScene::tooltip(Point at) {
  const auto trial = trial_at(at);
  if (!trial) return {};
  return tip_html(describe_tuning(tuning_.report(), tuning_item(*trial)),
                  "Click: choose   Enter: apply it to the plan");
}

QString TuningScene::description() const {
  const TuneReport& report = tuning_.report();
  if (report.trials.empty()) return "Tuning. " + words_of(tuning_);
  const auto told = [&](std::size_t trial) {
    const Hover hover = describe_tuning(report, tuning_item(trial));
    return q(hover.title + ", " + hover.where + (hover.value.empty() ? "" : ", " + hover.value)) +
           ".";
  };
  QString words =
      QString("Tuning. %1 of %2 trials.").arg(q(goal_name(report.goal))).arg(report.trials.size());
  if (report.best) words += " Best: " + told(*report.best);
  if (chosen_ && *chosen_ < report.trials.size()) words += " Chosen: " + told(*chosen_);
  return words;
}

Qt::CursorShape TuningScene::cursor(Point at) {
  return trial_at(at) ? Qt::PointingHandCursor : Qt::ArrowCursor;
}

}  // namespace trainyard
