// The plans of a search as a scene: a click chooses a plan, a drag brushes a rectangle, arrows walk
// the front, Enter opens.
#pragma once

#include <functional>
#include <optional>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/planning.h"
#include "visualizers/plans/pareto_view.h"

namespace trainyard {

class ParetoScene : public Scene {
 public:
  struct Told {
    std::function<void(PlanId)> chosen;
    std::function<void()> brushed;  // or no longer
    std::function<void()> opened;   // the chosen plan
  };
  ParetoScene(const Planning& planning, Told told) : planning_(planning), told_(std::move(told)) {}

  ParetoState& state() { return state_; }
  const ParetoState& state() const { return state_; }
  /// Letters of the document's plans, by plan.
  void set_letters(std::vector<std::pair<std::string, PlanId>> letters);
  /// Where the plan has no point (it is illegal, or was not tried), nothing is chosen.
  void choose(std::optional<PlanId>);

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;
  Qt::CursorShape cursor(Point) override;
  /// What is shown: what was found, or while it searches the front so far.
  const ParetoModel& model() const;

 private:
  Rect area() const { return {0, 0, size_.width, size_.height}; }
  bool press(const InputFrame&);
  bool release();
  bool key(int);
  bool take(std::optional<std::size_t> point);
  std::optional<std::size_t> point_with(const ParetoModel&, PlanId) const;

  const Planning& planning_;
  Told told_;
  ParetoState state_;
  std::vector<std::pair<std::string, PlanId>> letters_;
  std::shared_ptr<const PlanFindings> lettered_of_;
  ParetoModel lettered_;  // what was found, with letters
  Size size_{};
  Drawing last_{Size{}};
  std::optional<Point> pressed_;
  bool dragged_ = false;
};

/// What there is to say while nothing was found.
QString words_of(const Planning&);

}  // namespace trainyard
