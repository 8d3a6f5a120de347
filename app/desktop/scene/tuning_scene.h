// The picture of a tuning as a scene: a click or the arrow keys choose a trial, Enter or a double
// click applies it.
#pragma once

#include <functional>
#include <optional>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/tuning_session.h"
#include "visualizers/tuning/tuning_view.h"

namespace trainyard {

class TuningScene : public Scene {
 public:
  struct Told {
    std::function<void(std::size_t trial)> chosen;
    std::function<void()> applied;  // the chosen one
  };
  /// The tuning must outlive it.
  TuningScene(const TuningSession& tuning, Told told) : tuning_(tuning), told_(std::move(told)) {}

  void choose(std::optional<std::size_t> trial) { chosen_ = trial; }

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  Qt::CursorShape cursor(Point) override;

 private:
  std::optional<std::size_t> trial_at(Point) const;
  bool take(std::optional<std::size_t> trial);
  bool key(int);

  const TuningSession& tuning_;
  Told told_;
  std::optional<std::size_t> chosen_;
  Drawing last_{Size{}};
};

/// Returns the words that stand in place of the picture while there are no trials.
QString words_of(const TuningSession&);

}  // namespace trainyard
