// The knobs of a chosen plan, each turned alone, as strips; priced on a thread of its own when
// somebody looks.
#pragma once

#include <QWidget>

#include <memory>
#include <optional>

#include "app/desktop/session/planning.h"

namespace trainyard {

class CanvasWidget;
class KnobsScene;

class StripPanel : public QWidget {
  Q_OBJECT

 public:
  explicit StripPanel(QWidget* parent = nullptr);
  /// Nothing: no plan is chosen.
  void show_plan(std::shared_ptr<const PlanFindings>, std::optional<PlanId>);
  CanvasWidget* canvas() const { return canvas_; }
  bool settled() const { return !work_.running(); }
  /// Rows drawn; 0 where there is nothing to draw.
  std::size_t rows() const;

 Q_SIGNALS:
  /// A value was clicked: the words that give it to the plan.
  void asked(const QString& words);

 protected:
  void showEvent(QShowEvent*) override;

 private:
  void price();

  std::shared_ptr<const PlanFindings> findings_;
  std::optional<PlanId> plan_, priced_;
  KnobsScene* scene_ = nullptr;  // the canvas has it
  CanvasWidget* canvas_;
  Background work_{this};  // last: it uses all of the above
};

}  // namespace trainyard
