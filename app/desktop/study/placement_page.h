// The Placement tab: jobs that arrive over time on nodes that they share, with the question at the
// left, the nodes over time under two policies or the peaks of all policies as a picture over the
// policies as rows, and what hindsight leaves unlearnable in sentences.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "app/desktop/study/placement_panel.h"
#include "app/desktop/study/study_page.h"
#include "visualizers/placement/occupancy_view.h"

namespace trainyard {

class Segment;

/// Nodes over time, and the panel of them that is drawn; past the last one the peaks.
struct ShownPlacement {
  OccupancyModel model;
  std::size_t panel = 0;
};

class PlacementPage : public StudyPage {
  Q_OBJECT

 public:
  explicit PlacementPage(Document&, QWidget* parent = nullptr);

  void connect_commands(const Actions& actions) { connect_save(actions); }

  const PlacementMeasurement& measurement() const { return measurement_; }
  PlacementPanel& panel() const { return *panel_; }
  void start() override;

  /// These return what the command line writes.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 private:
  void refresh();

  PlacementMeasurement& measurement_;
  std::shared_ptr<const PlacementStudy> shown_;  // of which the table and the picture are
  std::optional<ShownPlacement> drawn_;
  PlacementPanel* panel_;
  Segment* which_;
};

}  // namespace trainyard
