// A PlannerPage shows a search: the space of plans at the left, all plans as points and as a table
// in the middle, and at the right why the chosen one is not the best.
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
  /// The space that is searched.
  const SpacePanel& space() const { return *space_; }
  QList<CanvasWidget*> canvases() const override;
  /// Returns whether no search and no pricing is in progress.
  bool settled() const override;
  bool whole() const override { return true; }
  void start();
  void stop() { planning_.stop(); }
  std::optional<PlanId> chosen() const { return chosen_; }
  void choose(PlanId);
  /// Selects the open plan, or shows why it is not among those searched.
  void ask_own();
  /// Applies the chosen plan's settings to the open plan as one undo step; does nothing if none is
  /// chosen.
  void open_chosen();
  /// Returns whether the model, the plan's other settings or the space have changed since the
  /// search.
  bool stale() const;
  bool has_picture() const;
  std::optional<Drawing> picture() const override;
  /// The shown plans with their settings.
  std::optional<DataTable> table() const override;

 Q_SIGNALS:
  void changed();

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_centre();
  QWidget* make_right();
  void refresh();           // after progress of the search
  void refresh_state();     // the status line
  void refresh_document();  // after a change of the document
  void refresh_filter();
  void set_axes();
  void mend(const QString& words);
  /// The open plan among those searched; if it is not there, `why` receives the reason.
  std::optional<PlanId> own(std::string* why = nullptr) const;

  Document& document_;
  Planning planning_;
  std::shared_ptr<const PlanFindings> shown_;
  std::optional<PlanId> chosen_;
  QString asked_;  // fingerprint of the search
  SpacePanel* space_;
  CanvasWidget* canvas_;
  ParetoScene* scene_ = nullptr;  // owned by the canvas
  PlanTable* table_;
  FateList* fates_;
  ReasonPanel* reason_;
  Field *x_, *y_;
  QLabel *state_, *chip_;
};

}  // namespace trainyard
