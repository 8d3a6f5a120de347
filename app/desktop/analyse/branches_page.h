// A BranchesPage measures what layers of the open model gain if independent operators run beside
// each other on the cores of this machine: the question at the left, the stages of the chosen pass
// as a picture over the table of all passes, and what follows in sentences.
#pragma once

#include "app/desktop/analyse/branch_panel.h"
#include "app/desktop/controls/page.h"
#include "visualizers/branches/stages_view.h"

class QLabel;
class QPushButton;

namespace trainyard {

class Actions;
class ChartScene;
class ViewTable;

class BranchesPage : public Page {
  Q_OBJECT

 public:
  explicit BranchesPage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.branches*" act on this page.
  void connect_commands(const Actions&);

  const BranchMeasurement& measurement() const { return measurement_; }
  BranchPanel& panel() const { return *panel_; }
  ViewTable& rows() const { return *rows_; }
  void start();
  /// Draws the stages of a pass, by its place in the study.
  void choose(std::size_t pass);
  QString sentences() const;

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return !measurement_.running(); }
  bool whole() const override { return true; }
  void choose_row(Item) override;
  /// As the command line writes them.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_picture();
  void refresh();
  void refresh_state();

  Document& document_;
  BranchMeasurement measurement_;
  const BranchStudy* shown_ = nullptr;  // of which the table and the picture are
  std::optional<StagesModel> model_;    // of the chosen pass
  QString asked_;                       // fingerprint of the question
  BranchPanel* panel_;
  CanvasWidget* canvas_;
  ChartScene* scene_;  // owned by the canvas
  ViewTable* rows_;
  QPushButton *copy_, *save_;
  QLabel *chip_, *sentences_;
};

}  // namespace trainyard
