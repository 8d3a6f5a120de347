// Schedules beside each other as a scene: the wheel scrolls, a click or the arrow keys choose one,
// Enter takes it, the pointer is told what is under it.
#pragma once

#include <functional>
#include <string>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/comparison.h"

namespace trainyard {

class SchedulesScene : public Scene {
 public:
  /// The comparison must outlive it.
  explicit SchedulesScene(const Comparison& comparison) : comparison_(comparison) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  bool takes_pages() const override { return true; }
  /// Null where none is chosen.
  const SchedulePanel* chosen_panel() const;

  /// Another is chosen; Enter was pressed.
  std::function<void()> on_chosen, on_taken;

 private:
  void choose(std::size_t panel);
  void bring_into_sight(std::size_t panel);
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }
  void scroll_by(float);

  const Comparison& comparison_;
  Drawing last_{Size{}};
  ViewState state_;
  std::string chosen_;  // name of a panel
};

}  // namespace trainyard
