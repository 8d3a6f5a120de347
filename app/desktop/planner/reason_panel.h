// A ReasonPanel explains why a plan lost or won: the reason, its figures, and the difference from
// the best plan, cause by cause.
#pragma once

#include <QWidget>

#include <memory>
#include <optional>

#include "app/desktop/session/planning.h"

class QLabel;
class QPushButton;

namespace trainyard {

class CanvasWidget;
class Segment;
class WaterfallScene;

class ReasonPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ReasonPanel(Planning&, QWidget* parent = nullptr);

  /// letter: that of the document's plan, if it is one; may be empty. Prices the plan on a thread
  /// of its own.
  void show_plan(PlanId, const QString& letter);
  /// Shows a text while no plan is chosen: why, or what to do.
  void show_words(const QString& title, const QString& words);
  bool settled() const { return !work_.running(); }
  CanvasWidget* canvas() const { return canvas_; }
  std::optional<PlanId> plan() const { return plan_; }

 Q_SIGNALS:
  void open_plan();
  void ask_own();
  /// Emits the settings, as --set takes them, that repair the plan.
  void mend(const QString& words);

 private:
  void show_case(const PlanCase&);
  void show_waterfall();
  void set_reason(const QString&, const char* tone);

  Planning& planning_;
  std::optional<PlanId> plan_;
  PlanCase case_;
  bool known_ = false;
  QLabel *title_, *details_, *reason_, *figures_;
  QPushButton *open_, *mend_, *own_;
  Segment* which_;
  WaterfallScene* fall_ = nullptr;  // owned by the canvas
  CanvasWidget* canvas_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard
