// A GatePanel asks which models are held against which checkpoint, on which corrupted samples, and
// what they may lose.
#pragma once

#include <optional>
#include <string>

#include "app/desktop/study/measurement_panel.h"
#include "app/workspace/quality/gate_chart.h"
#include "app/workspace/scenario/request.h"

class QCheckBox;

namespace trainyard {

using GateMeasurement = MeasurementOf<GateReport>;

class GatePanel : public MeasurementPanel {
  Q_OBJECT

 public:
  GatePanel(Document&, const GateMeasurement&, QWidget* parent = nullptr);

  /// The open model; empty without one, and where a field is wrong.
  std::optional<Request> request() const;
  GateWords words() const;
  /// Without the scenario, which takes a while to open, the usual corruptions, and the rates of
  /// bit errors (words() has them), which may fit none of the models.
  GateQuestion question() const;
  QString fingerprint() const override;
  /// Returns whether a gate that is not passed lets no plan of its model be exported.
  bool blocks_export() const;

 private:
  void make_question();
  Verbs verbs() const override;
  QString missing() const override;

  Field* data_;
  CheckedField *reference_, *corruptions_, *limits_, *samples_, *error_rates_;
  WordList* models_;
  QCheckBox *vectors_, *lossless_, *blocks_;
};

}  // namespace trainyard
