// A BranchPanel asks which operators of the open model's layers are to be measured beside each
// other and as one on this machine, and how, or which prices they take on which processor.
#pragma once

#include "app/desktop/study/measurement_panel.h"
#include "app/workspace/runs/branches/branch_study.h"

class QComboBox;

namespace trainyard {

class Segment;

using BranchMeasurement = MeasurementOf<BranchStudy>;

class BranchPanel : public MeasurementPanel {
  Q_OBJECT

 public:
  BranchPanel(Document&, const BranchMeasurement&, QWidget* parent = nullptr);

  /// The model and its settings, on one core of this machine or on the processor that is priced,
  /// with the project's calibration where that prices; empty without a model, and where a field is
  /// wrong.
  std::optional<Request> request() const;
  BranchQuestion question() const;
  QString fingerprint() const override;
  void refresh() override;

 private:
  void make_question();
  Verbs verbs() const override;
  QString missing() const override;
  OperatorPrices prices() const;
  void refresh_progress() override;

  WordList* settings_;
  Segment* strategy_;
  QComboBox* prices_;
  CheckedField *processor_, *cores_, *rounds_, *group_size_, *groups_;
};

}  // namespace trainyard
