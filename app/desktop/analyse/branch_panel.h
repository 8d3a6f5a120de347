// A BranchPanel asks which operators of the open model's layers are to be measured beside each
// other and as one on this machine, and how, or which prices they take on which processor.
#pragma once

#include "app/desktop/planner/question_panel.h"
#include "app/desktop/session/background_measurement.h"
#include "app/desktop/session/document.h"
#include "app/workspace/runs/branch_study.h"

class QComboBox;

namespace trainyard {

class CheckedField;
class Segment;
class WordList;

using BranchMeasurement = MeasurementOf<BranchStudy>;

class BranchPanel : public QuestionPanel {
  Q_OBJECT

 public:
  BranchPanel(Document&, const BranchMeasurement&, QWidget* parent = nullptr);

  /// The model and its settings, on one core of this machine or on the processor that is priced,
  /// with the project's calibration where that prices; empty without a model, and where a field is
  /// wrong.
  std::optional<Request> request() const;
  BranchQuestion question() const;
  /// Everything on which the answer depends, as text: the command line that asks the same.
  QString fingerprint() const;
  /// Takes what is typed and not entered yet. Returns whether the question can be asked; else a
  /// sentence says why not.
  bool commit();
  /// Reads the document again.
  void refresh();

 private:
  QWidget* make_question();
  QString missing() const;
  OperatorPrices prices() const;
  void refresh_progress();

  Document& document_;
  const BranchMeasurement& measurement_;
  WordList* settings_;
  Segment* strategy_;
  QComboBox* prices_;
  CheckedField *processor_, *cores_, *rounds_, *group_size_, *groups_;
};

}  // namespace trainyard
