// A SharpnessPanel asks of which weights of the open plan the sharpness is to be found, on which
// data, and how closely.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/desktop/study/measurement_panel.h"
#include "app/workspace/runs/sharpness/sharpness_study.h"
#include "app/workspace/scenario/request.h"

namespace trainyard {

using SharpnessMeasurement = MeasurementOf<SharpnessAnswer>;

class SharpnessPanel : public MeasurementPanel {
  Q_OBJECT

 public:
  SharpnessPanel(Document&, const SharpnessMeasurement&, QWidget* parent = nullptr);

  /// The open plan; empty without one, and where a field is wrong.
  std::optional<Request> request() const;
  /// Without the scenario, which takes a while to open.
  SharpnessQuestion question() const;
  QString fingerprint() const override;

 private:
  void make_question();
  Verbs verbs() const override;

  Field* data_;
  CheckedField *steps_, *products_, *difference_;
  WordList* training_;
};

}  // namespace trainyard
