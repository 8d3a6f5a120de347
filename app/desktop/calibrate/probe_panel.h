// A ProbePanel measures how the time of one op grows with one of its sizes on this machine, and
// shows the staircase over the roofline with what follows from it in sentences.
#pragma once

#include <QWidget>

#include <functional>
#include <string>

#include "app/desktop/session/background_measurement.h"
#include "app/workspace/runs/kernel_probe.h"

class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;

namespace trainyard {

using ProbeMeasurement = MeasurementOf<WidthProbe>;

class CanvasWidget;
class ChartScene;
class ElidedLabel;
class Field;

class ProbePanel : public QWidget {
  Q_OBJECT

 public:
  /// calibration: the measured prices that stand beside the times, as open_measured_prices() reads
  /// them; empty where there are none of this machine.
  explicit ProbePanel(std::function<std::string()> calibration, QWidget* parent = nullptr);

  /// Measures what the form asks for; does nothing before allow(true), or while it measures.
  void start();
  /// Says whether the user agreed to run kernels on this machine.
  void allow(bool);
  ProbeMeasurement& measurement() { return measurement_; }
  CanvasWidget* canvas() const { return canvas_; }
  /// The form, as a user would fill it in.
  Field* op() const { return op_; }
  Field* varied() const { return varied_; }
  QLineEdit* widths() const { return widths_; }
  QLineEdit* sizes() const { return sizes_; }
  /// Returns the sentences that follow from the staircase, a paragraph each.
  QString sentences() const;

 private:
  QWidget* make_bar();
  void choose_op();
  void choose_size();
  void refresh();
  ProbeQuestion question() const;

  std::function<std::string()> calibration_;
  ProbeMeasurement measurement_;
  bool allowed_ = false;
  const WidthProbe* shown_ = nullptr;  // whose sentences are shown
  Field *op_, *varied_, *pass_;
  QLineEdit *widths_, *sizes_;
  QProgressBar* progress_;
  QPushButton *start_, *stop_;
  ElidedLabel* state_;
  CanvasWidget* canvas_;
  ChartScene* scene_;  // owned by the canvas
  QLabel* sentences_;
};

}  // namespace trainyard
