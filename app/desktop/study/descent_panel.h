// A DescentPanel asks what few bits do to a descent on least squares: the bits of HALP's offsets,
// the problem, and how long it descends.
#pragma once

#include "app/desktop/study/measurement_panel.h"
#include "core/training/halp/halp_study.h"

namespace trainyard {

using DescentMeasurement = MeasurementOf<HalpStudy>;

class DescentPanel : public MeasurementPanel {
  Q_OBJECT

 public:
  DescentPanel(Document&, const DescentMeasurement&, QWidget* parent = nullptr);

  HalpQuestion question() const;
  QString fingerprint() const override;

 private:
  void make_question();
  std::int64_t weights() const;
  Verbs verbs() const override;
  QString missing() const override;
  QString subject() const override;
  void refresh_progress() override;

  CheckedField *bits_ = nullptr, *mu_ = nullptr, *rate_ = nullptr, *weights_ = nullptr,
               *samples_ = nullptr, *inner_ = nullptr, *rounds_ = nullptr, *seed_ = nullptr;
};

}  // namespace trainyard
