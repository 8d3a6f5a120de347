// The plans of a space: the space of plans at the left, all plans as points and as a table in
// the middle, and at the right why the chosen one is not the best.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/planning.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"

class QLabel;

namespace trainyard {

class CanvasWidget;
class FateList;
class Field;
class ParetoScene;
class PlanTable;
class ReasonPanel;
class SpacePanel;

class PlannerPage : public Page {
  Q_OBJECT

 public:
  explicit PlannerPage(Document&, QWidget* parent = nullptr);

  Planning& planning() { return planning_; }
  QList<CanvasWidget*> canvases() const override;
  /// Nothing is searched or priced.
  bool settled() const override;
  bool whole() const override { return true; }
  void start();
  void stop() { planning_.stop(); }
  std::optional<PlanId> chosen() const { return chosen_; }
  void choose(PlanId);
  /// The open plan, or the sentence that says why it is not among those searched.
  void ask_own();
  /// Its settings become the open plan's, as one step of undo. Does nothing where none is chosen.
  void open_chosen();
  /// The model, the plan's other settings or the space changed after the search.
  bool stale() const;
  bool has_picture() const;
  std::optional<Drawing> picture() const override;
  /// Its plans by their settings.
  std::optional<DataTable> table() const override;

 Q_SIGNALS:
  void changed();

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_centre();
  QWidget* make_right();
  void refresh();           // after the search said something
  void refresh_state();     // its line
  void refresh_document();  // after the document changed
  void refresh_filter();
  void set_axes();
  void mend(const QString& words);
  /// The open plan among those searched; else `why` says why not.
  std::optional<PlanId> own(std::string* why = nullptr) const;

  Document& document_;
  Planning planning_;
  std::shared_ptr<const PlanFindings> shown_;
  std::optional<PlanId> chosen_;
  QString asked_;  // fingerprint of what was searched
  SpacePanel* space_;
  CanvasWidget* canvas_;
  ParetoScene* scene_ = nullptr;  // the canvas has it
  PlanTable* table_;
  FateList* fates_;
  ReasonPanel* reason_;
  Field *x_, *y_;
  QLabel *state_, *chip_;
};

}  // namespace trainyard
