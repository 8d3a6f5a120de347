// A StripPanel shows the knobs of a chosen plan, each turned alone, as strips; they are priced on a
// thread of their own when they are shown.
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
  /// An empty id means that no plan is chosen.
  void show_plan(std::shared_ptr<const PlanFindings>, std::optional<PlanId>);
  CanvasWidget* canvas() const { return canvas_; }
  bool settled() const { return !work_.running(); }
  /// Number of rows drawn; 0 if there is nothing to draw.
  std::size_t rows() const;

 Q_SIGNALS:
  /// Emitted when a value is clicked, with the settings for it.
  void asked(const QString& words);

 protected:
  void showEvent(QShowEvent*) override;

 private:
  void price();

  std::shared_ptr<const PlanFindings> findings_;
  std::optional<PlanId> plan_, priced_;
  KnobsScene* scene_ = nullptr;  // owned by the canvas
  CanvasWidget* canvas_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard
