// A BranchesPage measures what layers of the open model gain if independent operators run beside
// each other on the cores of this machine: the question at the left, the stages of the chosen pass
// as a picture over the table of all passes, and what follows in sentences.
#pragma once

#include "app/desktop/study/branch_panel.h"
#include "app/desktop/study/study_page.h"
#include "visualizers/branches/stages_view.h"

namespace trainyard {

class BranchesPage : public StudyPage {
  Q_OBJECT

 public:
  explicit BranchesPage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.branches*" act on this page.
  void connect_commands(const Actions&);

  const BranchMeasurement& measurement() const { return measurement_; }
  BranchPanel& panel() const { return *panel_; }
  void start() override;
  /// Draws the stages of a pass, by its place in the study.
  void choose(std::size_t pass);

  void choose_row(Item) override;
  /// As the command line writes them.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 private:
  void refresh();

  BranchMeasurement& measurement_;
  const BranchStudy* shown_ = nullptr;  // of which the table and the picture are
  std::optional<StagesModel> model_;    // of the chosen pass
  BranchPanel* panel_;
};

}  // namespace trainyard
