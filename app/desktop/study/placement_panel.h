// A PlacementPanel asks how jobs that arrive over time are placed on nodes: which nodes, how many
// jobs of which kinds, and on how many traces policies learn and are compared.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "app/desktop/study/measurement_panel.h"
#include "app/workspace/plans/placement_question.h"

class QPushButton;

namespace trainyard {

using PlacementMeasurement = MeasurementOf<PlacementStudy>;

class PlacementPanel : public MeasurementPanel {
  Q_OBJECT

 public:
  PlacementPanel(Document&, const PlacementMeasurement&, QWidget* parent = nullptr);

  PlacementAsked question() const;
  QString fingerprint() const override;
  void refresh() override;

 private:
  void make_question();
  QString words_of_plan() const;  // the open plan as a kind of job; empty without one
  Verbs verbs() const override;
  QString missing() const override;
  QString subject() const override;
  void refresh_progress() override;

  std::vector<CheckedField*> asked_;  // in the order of the table of fields
  CheckedField* hours_ = nullptr;
  WordList* jobs_ = nullptr;
  QPushButton* add_plan_ = nullptr;
};

}  // namespace trainyard
