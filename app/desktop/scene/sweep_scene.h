// The picture of a sweep as a scene: a click or the arrow keys choose a combination, Enter or a
// double click opens its plan.
#pragma once

#include <functional>
#include <optional>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/sweeping.h"
#include "visualizers/sweep/sweep_view.h"

namespace trainyard {

class SweepScene : public Scene {
 public:
  struct Told {
    std::function<void(std::size_t combination)> chosen;
    std::function<void()> opened;  // the chosen one
  };
  /// The sweeping must outlive it.
  SweepScene(const Sweeping& sweeping, Told told) : sweeping_(sweeping), told_(std::move(told)) {}

  SweepFigure figure() const { return figure_; }
  void set_figure(SweepFigure figure) { figure_ = figure; }
  void choose(std::optional<std::size_t> combination) { chosen_ = combination; }

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  Qt::CursorShape cursor(Point) override;

 private:
  std::optional<std::size_t> combination_at(Point) const;
  bool take(std::optional<std::size_t> combination);
  bool key(int);
  std::optional<std::size_t> beside(int rows, int columns) const;

  const Sweeping& sweeping_;
  Told told_;
  SweepFigure figure_ = SweepFigure::Step;
  std::optional<std::size_t> chosen_;
  Drawing last_{Size{}};
};

/// Returns the words that stand in place of the picture while there are no rows.
QString words_of(const Sweeping&);

}  // namespace trainyard
