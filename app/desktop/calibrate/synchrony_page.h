// A SynchronyPage shows what it costs replicas to wait for each other, how old changes are where
// they do not, and what threads of this machine gain that share weights without locks: the question
// at the left, one picture of three over its rows, and what follows in sentences.
#pragma once

#include <vector>

#include "app/desktop/study/study_page.h"
#include "visualizers/synchrony/synchrony_view.h"

class QLabel;
class QPushButton;

namespace trainyard {

class CheckedField;
class Segment;

using HogwildMeasurement = MeasurementOf<HogwildStudy>;

class SynchronyPage : public StudyPage {
  Q_OBJECT

 public:
  explicit SynchronyPage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.threads*" act on this page.
  void connect_commands(const Actions&);

  const HogwildMeasurement& measurement() const { return measurement_; }
  const SynchronyModel& model() const { return model_; }
  void show_picture(SynchronyPicture);
  /// Measures threads of this machine; does nothing while it measures or a field is wrong.
  void start() override;

  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 private:
  QWidget* make_form();
  std::vector<CheckedField*> asked() const;  // the fields of replicas
  void ask();  // reads the form, and answers what needs no measurement
  void refresh();
  void refresh_state();  // of the measurement

  HogwildMeasurement& measurement_;
  SynchronyModel model_;
  CheckedField *replicas_, *sigma_, *lasting_, *throttled_, *period_, *exchange_, *slow_link_;
  CheckedField *threads_, *nonzeros_;
  QPushButton* start_;
  QLabel* state_;
  Segment* which_;
};

}  // namespace trainyard
