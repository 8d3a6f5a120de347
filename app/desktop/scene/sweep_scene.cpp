#include "app/desktop/scene/sweep_scene.h"

#include "app/desktop/controls/text.h"
#include "app/desktop/scene/tip.h"
#include "visualizers/chart/time_plot.h"
#include "visualizers/sweep/sweep_grid.h"

namespace trainyard {

QString words_of(const Sweeping& sweeping) {
  if (sweeping.running()) return "Sweeping the first combination …";
  if (sweeping.error()) return "The sweep did not begin; the question says why.";
  return sweeping.study().axes.empty() ? "Nothing has been swept yet."
                                       : "It was stopped before the first combination was done.";
}

Drawing SweepScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  const SweepStudy& study = sweeping_.study();
  if (study.rows.empty()) {
    write(last_, words_of(sweeping_).toStdString(), {12, 24}, 12, Weight::Regular, Ink::Text2);
    return last_;
  }
  ViewState state;
  state.scale = scale;
  if (chosen_) state.selected = {ItemKind::Cell, *chosen_};
  draw_sweep(last_, whole(size), study, figure_, state);
  return last_;
}

std::optional<std::size_t> SweepScene::combination_at(Point at) const {
  const Item item = hit(last_, at);
  const bool known = item.kind == ItemKind::Cell && item.tag < sweeping_.study().rows.size();
  return known ? std::optional<std::size_t>(item.tag) : std::nullopt;
}

bool SweepScene::take(std::optional<std::size_t> combination) {
  if (!combination || *combination >= sweeping_.study().rows.size()) return false;
  told_.chosen(*combination);
  return true;
}

// Rows go on from one map to the next.
std::optional<std::size_t> SweepScene::beside(int rows, int columns) const {
  const SweepGrid grid(sweeping_.study());
  if (!chosen_) return grid.combination(0, 0, 0);
  const std::size_t lines = grid.maps() * grid.rows();
  for (std::size_t line = 0; line < lines; ++line)
    for (std::size_t column = 0; column < grid.columns(); ++column) {
      if (grid.combination(line / grid.rows(), line % grid.rows(), column) != *chosen_) continue;
      const std::size_t r = line + static_cast<std::size_t>(rows),
                        c = column + static_cast<std::size_t>(columns);
      if (r >= lines || c >= grid.columns()) return std::nullopt;
      return grid.combination(r / grid.rows(), r % grid.rows(), c);
    }
  return std::nullopt;
}

bool SweepScene::key(int key) {
  const SweepStudy& study = sweeping_.study();
  switch (key) {
    case Qt::Key_Up:
      return take(beside(-1, 0));
    case Qt::Key_Down:
      return take(beside(1, 0));
    case Qt::Key_Left:
      return take(beside(0, -1));
    case Qt::Key_Right:
      return take(beside(0, 1));
    case Qt::Key_Home:
      return take(best_row(study, figure_));
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (chosen_) told_.opened();
      return false;
    default:
      return false;
  }
}

bool SweepScene::input(const InputFrame& frame) {
  if (sweeping_.study().rows.empty()) return false;
  bool again = false;
  if (frame.pressed[0]) {
    again = take(combination_at(frame.at));
    if (again && frame.twice) told_.opened();
  }
  for (const int each : frame.keys) again |= key(each);
  return again;
}

QString SweepScene::tooltip(Point at) {
  const auto combination = combination_at(at);
  if (!combination) return {};
  const Hover hover = describe_sweep(sweeping_.study(), figure_, {ItemKind::Cell, *combination});
  return tip_html(hover, "Click: choose   Enter: open its plan");
}

QString SweepScene::description() const {
  const SweepStudy& study = sweeping_.study();
  if (study.rows.empty()) return "Sweep. " + words_of(sweeping_);
  const auto told = [&](std::size_t combination) {
    const Hover hover = describe_sweep(study, figure_, {ItemKind::Cell, combination});
    return q(hover.title + ", " + hover.where + (hover.value.empty() ? "" : ", " + hover.value)) +
           ".";
  };
  QString words =
      "Sweep. " + q(sweep_figure_name(figure_)) +
      QString(" of %1 of %2 combinations.").arg(study.rows.size()).arg(combinations(study.axes));
  if (const auto best = best_row(study, figure_)) words += " Best: " + told(*best);
  if (chosen_ && *chosen_ < study.rows.size()) words += " Chosen: " + told(*chosen_);
  return words;
}

Qt::CursorShape SweepScene::cursor(Point at) {
  return combination_at(at) ? Qt::PointingHandCursor : Qt::ArrowCursor;
}

}  // namespace trainyard
