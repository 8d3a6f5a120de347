// A GatePanel asks which models are held against which checkpoint, on which corrupted samples, and
// what they may lose.
#pragma once

#include <optional>
#include <string>

#include "app/desktop/planner/question_panel.h"
#include "app/desktop/session/background_measurement.h"
#include "app/desktop/session/document.h"
#include "app/workspace/quality/gate_chart.h"
#include "app/workspace/scenario/request.h"

class QCheckBox;

namespace trainyard {

class CheckedField;
class Field;
class WordList;

using GateMeasurement = MeasurementOf<GateReport>;

class GatePanel : public QuestionPanel {
  Q_OBJECT

 public:
  GatePanel(Document&, const GateMeasurement&, QWidget* parent = nullptr);

  /// The open model; empty without one, and where a field is wrong.
  std::optional<Request> request() const;
  GateWords words() const;
  /// Without the scenario, which takes a while to open, and without the usual corruptions.
  GateQuestion question() const;
  /// The command line that asks the same; empty where nothing can be asked.
  QString fingerprint() const;
  /// Takes what is typed and not entered yet. Returns whether the question can be asked; else a
  /// sentence says why not.
  bool commit();
  /// Reads the document again.
  void refresh();
  /// Returns whether a gate that is not passed lets no plan of its model be exported.
  bool blocks_export() const;

 private:
  QWidget* make_question();
  QString missing() const;
  void refresh_progress();

  Document& document_;
  const GateMeasurement& measurement_;
  Field* data_;
  CheckedField *reference_, *corruptions_, *limits_, *samples_;
  WordList* models_;
  QCheckBox* blocks_;
};

}  // namespace trainyard
