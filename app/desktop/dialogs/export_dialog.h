// An ExportDialog exports the plan to another program: it shows the text for that program, what
// cannot be expressed in it, and what must be done by hand. Nothing is written before Save or Copy.
#pragma once

#include <QDialog>

#include "core/result/experiment.h"

class QLabel;
class QListWidget;
class QPlainTextEdit;
class QPushButton;

namespace trainyard {

class ExportDialog : public QDialog {
  Q_OBJECT

 public:
  ExportDialog(ExperimentPtr, QWidget* parent = nullptr);
  void choose(int target);
  QString preview() const;
  /// Why the plan cannot be exported to the target; empty if it can.
  QString refusal() const;
  /// What the text expresses only in part or leaves to be done, one line each.
  QString warnings() const;

 private:
  void refresh();
  void save();

  ExperimentPtr experiment_;
  QListWidget* targets_;
  QPlainTextEdit* text_;
  QLabel *refusal_, *warnings_;
  QPushButton *save_, *copy_;
};

}  // namespace trainyard
