// The Schedules tab: schedules beside each other at equal memory, which of them, at which budget,
// and the one that the plan takes.
#pragma once

#include <optional>

#include "app/desktop/controls/page.h"
#include "app/desktop/session/comparison.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"

class QLabel;
class QPushButton;

namespace trainyard {

class ChipRow;
class SchedulesScene;
class Stepper;

class SchedulesPage : public Page {
  Q_OBJECT

 public:
  SchedulesPage(Document&, Session&, QWidget* parent = nullptr);
  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  const Comparison& comparison() const { return comparison_; }
  bool settled() const override { return !comparison_.running(); }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  /// Of each device; what the devices have where nobody set one.
  Bytes budget() const;
  /// False: the text is no number of bytes above 0; the line beside it says what was expected.
  bool set_budget(const QString&);
  /// Names of schedules; empty: all.
  void set_schedules(const QStringList&);
  /// The chosen panel's schedule with what it changes becomes the plan's, as one step of undo.
  void take();

 protected:
  void showEvent(QShowEvent*) override;

 private:
  Bytes capacity() const;
  QString own_schedule() const;
  void step_budget(int direction);
  /// Only a comparison that somebody looks at is worth its time.
  void compare();
  void refresh();

  Document& document_;
  Session& session_;
  Comparison comparison_;
  std::optional<Bytes> budget_;
  ChipRow* schedules_;
  Stepper* stepper_;
  QLabel* wrong_;
  QPushButton* take_;
  CanvasWidget* canvas_;
  SchedulesScene* scene_;  // the canvas has it
};

}  // namespace trainyard
