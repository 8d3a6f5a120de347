// A SweepPage shows a sweep: the question at the left, one figure of every combination as a picture
// over the table of all figures, and opens the plan of the chosen row.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/planner/sweep_panel.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/sweeping.h"

namespace trainyard {

class Actions;
class SweepScene;
class ViewTable;

class SweepPage : public Page {
  Q_OBJECT

 public:
  /// space: what each search goes through.
  SweepPage(Document&, const SpacePanel& space, QWidget* parent = nullptr);
  /// Lets the commands "plan.sweep*" act on this page.
  void connect_commands(const Actions&);

  const Sweeping& sweeping() const { return sweeping_; }
  SweepPanel& panel() const { return *panel_; }
  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return !sweeping_.running(); }
  bool whole() const override { return true; }
  void start();
  std::optional<std::size_t> chosen() const { return chosen_; }
  void choose(std::optional<std::size_t> combination);
  void choose_row(Item) override;
  /// Makes the chosen row's model, cluster and plan those of the project, as one undo step; does
  /// nothing where the row has no plan.
  void open_chosen();
  /// As the command line draws and writes the study.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 Q_SIGNALS:
  void changed();

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_picture();
  bool has_rows() const { return !sweeping_.study().rows.empty(); }
  bool can_open() const;
  void refresh();
  void refresh_state();

  Document& document_;
  Sweeping sweeping_;
  std::optional<std::size_t> chosen_;
  QString asked_;  // fingerprint of the sweep
  SweepPanel* panel_;
  CanvasWidget* canvas_;
  SweepScene* scene_ = nullptr;  // owned by the canvas
  ViewTable* rows_;
  Field* figure_;
  QPushButton *open_, *save_;
  QLabel *best_, *chip_;
};

}  // namespace trainyard
