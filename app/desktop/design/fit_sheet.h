// A FitSheet shows what bringing the plan into a budget of memory takes: memory lever by lever, and
// the plans to choose from by memory, time and what is different about their training, as points
// and as rows. The chosen one is selected at first; whichever is selected is applied with one
// click.
#pragma once

#include <QDialog>

#include <vector>

#include "app/workspace/plans/fit_chart.h"

class QPushButton;

namespace trainyard {

class CanvasWidget;
class ChartScene;
class ViewTable;

class FitSheet : public QDialog {
  Q_OBJECT

 public:
  FitSheet(const FittedPlan&, QWidget* parent);
  ViewTable& rows() const { return *rows_; }

 Q_SIGNALS:
  /// The settings of the selected plan are to be set; the sheet closes.
  void apply(const QString& assignments);

 private:
  void choose(Item);
  void apply_selected();

  FitCharts charts_;
  std::vector<FitPlan> choices_;
  CanvasWidget* canvas_;
  ChartScene* scene_;  // owned by the canvas
  ViewTable* rows_;
  QPushButton* apply_;
};

}  // namespace trainyard
