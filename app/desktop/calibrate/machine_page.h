// A MachinePage measures this machine, for a duration to which the user agrees, or opens an earlier
// measurement from a file; it compares the kernels with the predictions, and the user can accept
// the result for the project's predictions. Below, a ProbePanel shows how the time of one op grows
// with one of its sizes.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/machine_measurement.h"
#include "app/desktop/session/session.h"

class QCheckBox;
class QDoubleSpinBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace trainyard {

class Actions;
class ElidedLabel;
class Field;
class ProbePanel;
class ChartScene;
class ViewTable;

class MachinePage : public Page {
  Q_OBJECT

 public:
  MachinePage(Document&, Session&, QWidget* parent = nullptr);
  void connect_commands(const Actions&);
  /// Opens a trainyard/calibration or trainyard/profile file.
  void open(const QString& path);
  /// Writes the shown measurement as a document. Throws Error{Io}.
  void save(const QString& path) const;
  MachineMeasurement& measurement() { return measurement_; }
  ViewTable& rows() const { return *rows_; }
  ViewTable& variants() const { return *variants_; }
  ProbePanel& probe() const { return *probe_; }
  /// The consent box; nothing runs before the user has ticked it.
  QCheckBox* consent() const { return consent_; }
  QDoubleSpinBox* box() const { return box_; }
  /// Sets whether the open plan is measured instead of the models of the zoo.
  void measure_plan(bool);
  void start();
  void accept();
  /// The text about the accepted calibration.
  QString use() const;

  QList<CanvasWidget*> canvases() const override;
  bool settled() const override;
  bool whole() const override { return true; }
  bool toggle_rows() override;
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_bar();
  QWidget* make_card();
  void ask_for_file();
  void ask_where_to_save();
  void refresh();
  void refresh_card();
  QString words_of_nothing() const;
  /// As ProbePanel takes it.
  std::string prices_of_this_machine() const;

  Document& document_;
  Session& session_;
  MachineMeasurement measurement_;
  const MeasuredMachine* shown_ = nullptr;  // the result from which the table is filled
  CanvasWidget* canvas_;
  ChartScene* scene_;  // owned by the canvas
  ViewTable* rows_;
  ViewTable* variants_;  // ways to compute kernels; hidden where none were measured
  ProbePanel* probe_;
  bool probe_last_ = false;  // whether the probe is the newest result, which is exported
  QCheckBox* consent_;
  QDoubleSpinBox* box_;
  Field* what_;
  Field* other_shapes_;
  QProgressBar* bar_;
  ElidedLabel* state_;
  QLabel *title_, *facts_, *use_;
  QPushButton *start_, *stop_, *open_, *save_, *accept_, *remove_;
};

}  // namespace trainyard
