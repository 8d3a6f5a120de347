// The plan in another program's words: which program, what it would be given, what cannot be said
// there and what is left to be done by hand. Nothing is written before Save or Copy.
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
  /// Why the target cannot be given the plan; empty where it can.
  QString refusal() const;
  /// What the text says only in part or leaves to be done, a line each.
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
