// An ExportDialog exports the plan to another program, or the model as a program of its own: it
// shows the text, what cannot be expressed in it, and what must be done by hand. Nothing is written
// before Save or Copy.
#pragma once

#include <QDialog>

#include "core/exporters/exported.h"
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
  /// Returns what the text expresses only in part, leaves to be done or says of itself, one line
  /// each.
  QString warnings() const;
  /// Takes the weights of a checkpoint for targets that have weights; empty = those with which
  /// training begins.
  void take_weights(const QString& checkpoint);

 private:
  void refresh();
  void choose_weights();
  void save();
  void write_files(const std::string& path) const;

  ExperimentPtr experiment_;
  Exported exported_;  // the chosen target's
  QString checkpoint_;
  QListWidget* targets_;
  QPlainTextEdit* text_;
  QLabel *refusal_, *warnings_;
  QPushButton *weights_, *save_, *copy_;
};

}  // namespace trainyard
