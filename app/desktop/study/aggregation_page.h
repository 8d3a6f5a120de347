// The Aggregation tab: jobs that share a network with short flows, with the question at the left,
// the steps of jobs and the times of short flows as a picture over the ways to reduce as rows, and
// what follows in sentences.
#pragma once

#include <memory>
#include <optional>

#include "app/desktop/study/aggregation_panel.h"
#include "app/desktop/study/study_page.h"
#include "visualizers/network/shared_cluster_view.h"

namespace trainyard {

class AggregationPage : public StudyPage {
  Q_OBJECT

 public:
  explicit AggregationPage(Document&, QWidget* parent = nullptr);

  void connect_commands(const Actions& actions) { connect_save(actions); }

  const AggregationMeasurement& measurement() const { return measurement_; }
  AggregationPanel& panel() const { return *panel_; }
  void start() override;

  /// These return what the command line writes.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 private:
  void refresh();

  AggregationMeasurement& measurement_;
  std::shared_ptr<const SharedClusterAnswer> shown_;  // of which the table and the picture are
  std::optional<SharedClusterModel> drawn_;
  AggregationPanel* panel_;
};

}  // namespace trainyard
