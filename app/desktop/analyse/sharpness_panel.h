// A SharpnessPanel asks of which weights of the open plan the sharpness is to be found, on which
// data, and how closely.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/desktop/planner/question_panel.h"
#include "app/desktop/session/background_measurement.h"
#include "app/desktop/session/document.h"
#include "app/workspace/runs/sharpness_study.h"
#include "app/workspace/scenario/request.h"

namespace trainyard {

class CheckedField;
class Field;
class WordList;

using SharpnessMeasurement = MeasurementOf<SharpnessAnswer>;

class SharpnessPanel : public QuestionPanel {
  Q_OBJECT

 public:
  SharpnessPanel(Document&, const SharpnessMeasurement&, QWidget* parent = nullptr);

  /// The open plan; empty without one, and where a field is wrong.
  std::optional<Request> request() const;
  /// Without the scenario, which takes a while to open.
  SharpnessQuestion question() const;
  /// The command line that asks the same; empty where nothing can be asked.
  QString fingerprint() const;
  /// Takes what is typed and not entered yet. Returns whether the question can be asked; else a
  /// sentence says why not.
  bool commit();
  /// Reads the document again.
  void refresh();

 private:
  QWidget* make_question();
  QString missing() const;
  void refresh_progress();

  Document& document_;
  const SharpnessMeasurement& measurement_;
  Field* data_;
  CheckedField *steps_, *products_, *difference_;
  WordList* training_;
};

}  // namespace trainyard
