// An AggregationPanel asks about jobs that share a network with short flows and reduce in rings or
// in its switches. Their gradients and links are those of the open plan, unless they are typed.
#pragma once

#include <vector>

#include "app/desktop/study/measurement_panel.h"
#include "app/workspace/scenario/shared_cluster_question.h"

namespace trainyard {

using AggregationMeasurement = MeasurementOf<SharedClusterAnswer>;

class AggregationPanel : public MeasurementPanel {
  Q_OBJECT

 public:
  AggregationPanel(Document&, const AggregationMeasurement&, QWidget* parent = nullptr);

  /// Returns what the fields ask, which must all hold.
  SharedClusterAsked question() const;
  QString fingerprint() const override;
  void refresh() override;

 private:
  void make_question();
  Verbs verbs() const override;
  QString missing() const override;
  QString subject() const override;

  std::vector<CheckedField*> asked_;  // in the order of shared_cluster_fields()
};

}  // namespace trainyard
