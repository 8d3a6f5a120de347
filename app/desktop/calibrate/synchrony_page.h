// A SynchronyPage shows what it costs replicas to wait for each other, how old changes are where
// they do not, and what threads of this machine gain that share weights without locks: the question
// at the left, one picture of three over its rows, and what follows in sentences.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/session/background_measurement.h"
#include "app/desktop/session/document.h"
#include "visualizers/synchrony/synchrony_view.h"

class QLabel;
class QPushButton;

namespace trainyard {

class Actions;
class CheckedField;
class ChartScene;
class Segment;
class ViewTable;

using HogwildMeasurement = MeasurementOf<HogwildStudy>;

class SynchronyPage : public Page {
  Q_OBJECT

 public:
  explicit SynchronyPage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.threads*" act on this page.
  void connect_commands(const Actions&);

  const HogwildMeasurement& measurement() const { return measurement_; }
  const SynchronyModel& model() const { return model_; }
  ViewTable& rows() const { return *rows_; }
  void show_picture(SynchronyPicture);
  /// Measures threads of this machine; does nothing while it measures or a field is wrong.
  void start();
  QString sentences() const;

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return !measurement_.running(); }
  bool whole() const override { return true; }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 private:
  QWidget* make_form();
  void ask();  // reads the form, and answers what needs no measurement
  void refresh();
  void refresh_state();  // of the measurement

  Document& document_;
  HogwildMeasurement measurement_;
  SynchronyModel model_;
  CheckedField *replicas_, *sigma_, *period_, *threads_, *nonzeros_;
  QPushButton* start_;
  QLabel *state_, *sentences_;
  Segment* which_;
  CanvasWidget* canvas_;
  ChartScene* scene_;  // owned by the canvas
  ViewTable* rows_;
};

}  // namespace trainyard
